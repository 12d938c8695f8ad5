"""Scheduling of precedence-constrained tasks on nodes and resources (problem kind ``dag``)."""
