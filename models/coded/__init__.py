"""Coded computing: redundant work on straggling nodes, of which enough answers suffice."""
