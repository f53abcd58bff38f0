"""Long property tests in parts, which workers of pytest run side by side."""

import os
from collections.abc import Callable

import hypothesis

IN_CI = bool(os.environ.get("CI"))


def other_examples(part: int, test: Callable[[], None]) -> Callable[[], None]:
    """Gives each part examples of its own. In CI, where Hypothesis draws the same ones in every run, all parts would have the same."""
    return hypothesis.seed(part)(test) if IN_CI else test
