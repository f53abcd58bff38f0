"""Measurements of ALMA through its public API: quality on public data, speed beside a reference, cold start. Each prints a table."""
