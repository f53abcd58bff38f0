"""Prints how many distributions this environment holds."""

from importlib.metadata import distributions

print(len({distribution.name for distribution in distributions()}))
