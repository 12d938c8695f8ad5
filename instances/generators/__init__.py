"""Seeded random instances."""
