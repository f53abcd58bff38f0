"""Fits lines into a budget of tokens, whole lines only, between the marks of reference notes."""

from collections.abc import Iterable

from alma.errors import ValidationError
from alma_integration import defused, fenced

CHARACTERS_PER_TOKEN = 3
"""Characters that are counted as one token: fewer than a token of English has, so that a budget holds for most models."""

LONGEST_LINE = 400


def tokens(text: str) -> int:
    """Returns an upper estimate of the tokens of a text: by its bytes, so that it holds for every script."""
    return -(-len(text.encode()) // CHARACTERS_PER_TOKEN)


def checked_budget(value: object, name: str = "max_tokens") -> int:
    """Returns a budget of tokens, 0 or more. `ValidationError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1_000_000:
        raise ValidationError(f"{name} must be a whole number from 0 to 1,000,000")
    return value


def line_of(label: str, text: str) -> str:
    """Returns a label and a stored text as one line of at most 400 characters, in which nothing reads as a mark of the fence or as a tag."""
    said = defused(" ".join(text.split()))
    return f"{label}: {said}" if len(said) <= LONGEST_LINE else f"{label}: {said[: LONGEST_LINE - 1]}…"


def fitted_lines(lines: Iterable[str], max_tokens: int) -> list[str]:
    """Returns the lines, in their order, that fit with the fence into the budget. One that does not fit is left out."""
    kept: list[str] = []
    for line in lines:
        if tokens(fenced([*kept, line])) <= max_tokens:
            kept.append(line)
    return kept


def fitted_notes(lines: Iterable[str], max_tokens: int) -> str:
    """Returns the fenced lines that fit; "" if none does."""
    kept = fitted_lines(lines, max_tokens)
    return fenced(kept) if kept else ""
