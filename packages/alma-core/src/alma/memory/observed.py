"""Methods of `ALMA` that learn from what others run, which `alma-harness` provides: one line per method."""


class Observed:
    """What is learned from functions and from traces."""
