"""Methods for the problem kind ``dag``."""
