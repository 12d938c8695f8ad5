"""How a problem is answered: engines, constructive methods and search."""
