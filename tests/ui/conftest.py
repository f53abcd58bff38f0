"""A browser for all tests, and servers that it visits."""

from collections.abc import Iterator

import pytest

from browser import Browser, running_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser
