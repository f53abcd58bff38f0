"""Tests of the core look at what users, protocols and constructors show; so the core can be rebuilt under them."""

import re
from pathlib import Path

CORE = Path(__file__).parents[1] / "core"
PRIVATE = re.compile(r"\b(?!(?:self|cls|os|sys|dis)\.)\w+\._[a-z]\w*")
KNOWN = {
    "text._size",  # shows how often a text is measured
    "lock._waiting_writers",  # shows that a writer waits
}


def test_tests_of_the_core_name_no_private_attribute() -> None:
    found = {(path.name, name) for path in CORE.rglob("*.py") for name in PRIVATE.findall(path.read_text("utf-8"))}
    assert {(file, name) for file, name in found if name not in KNOWN} == set()
