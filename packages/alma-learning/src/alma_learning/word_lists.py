"""The lists of words that learning reads, each in a file of `data`."""

import tomllib
from functools import cache
from importlib.resources import files


@cache
def read_lists(name: str) -> dict[str, frozenset[str]]:
    """Returns the lists of a file by their names, each as its words."""
    return {key: frozenset(text.split()) for key, text in _read(name).items()}


@cache
def read_pairs(name: str) -> dict[str, dict[str, str]]:
    """Returns the lists of a file by their names, each as its pairs: a line has words or phrases, and behind `=` what they stand for."""
    return {key: dict(_pairs(text)) for key, text in _read(name).items()}


@cache
def read_sentences(name: str) -> dict[str, tuple[str, ...]]:
    """Returns the lists of a file by their names, each as its lines."""
    return {key: tuple(text.strip().splitlines()) for key, text in _read(name).items()}


def _pairs(text: str) -> list[tuple[str, str]]:
    lines = (line.partition("=") for line in text.strip().splitlines())
    return [(left.strip(), right.strip()) for left, _, right in lines]


def _read(name: str) -> dict[str, str]:
    return tomllib.loads(files(__package__).joinpath("data", f"{name}.toml").read_text(encoding="utf-8"))
