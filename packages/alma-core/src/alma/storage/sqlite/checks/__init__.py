"""Looks for damage in a database file, and repairs what holds for the whole file."""
