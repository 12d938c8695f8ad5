"""Every document that goes in or out, and the typed object that it stands for."""
