"""Retrieval as pure functions: turns the results of two searches into one order. No I/O, no clock."""
