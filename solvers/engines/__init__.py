"""Runs of built models in external solvers."""
