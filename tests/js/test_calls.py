"""Every call of the TypeScript client against a server."""

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow


def test_every_call_does_what_it_says(run_suite: Callable[[str], None]) -> None:
    run_suite("calls")
