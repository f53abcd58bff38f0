"""Exceptions by which LangGraph steers, which say nothing about a tool or a run."""

import sys

from alma.episode import leaving


def is_steering(error: BaseException) -> bool:
    """Whether the graph itself raised this: an interrupt, or a command to a graph further out."""
    errors = sys.modules.get("langgraph.errors")  # without it nobody can have raised one
    return errors is not None and isinstance(error, errors.GraphBubbleUp)


def is_interrupt(error: BaseException) -> bool:
    """Whether the run waits for a person, and goes on later."""
    errors = sys.modules.get("langgraph.errors")
    return errors is not None and isinstance(error, errors.GraphInterrupt)


def says_nothing(error: BaseException) -> bool:
    """Whether an exception says nothing about the tool that it came from."""
    return is_steering(error) or leaving(error).outcome is None
