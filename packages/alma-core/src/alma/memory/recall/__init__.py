"""Reads what is known: retrieval, explanations, strategies, checks."""
