"""Errors of language models."""

from alma.errors import AlmaError


class LLMError(AlmaError):
    """A language model could not be asked, or gave no usable answer. Nothing was stored."""


class BudgetError(LLMError):
    """The next call would go over the budget. The model was not asked."""
