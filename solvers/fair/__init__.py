"""How fair divisions are answered."""
