"""Algorithms for the problem kind ``coded``: loads, gradient codes, elastic pieces."""
