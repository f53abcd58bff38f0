"""Texts that functions of this package remember."""

import sys


def forget_texts() -> None:
    """Clears every cache of the package: what was purged may be among the texts in them."""
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{__package__}."):
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()
