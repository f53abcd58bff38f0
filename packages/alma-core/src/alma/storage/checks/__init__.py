"""Looks for damage in a database, and rebuilds what follows from its journals."""
