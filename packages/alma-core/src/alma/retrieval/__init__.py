"""Retrieval as pure functions: what two searches found becomes one order. No I/O, no clock."""
