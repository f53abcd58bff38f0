"""Looks for damage in the rows of a project."""
