"""Protocols are small: what needs more is composed of several."""

import inspect
from typing import Any

from alma import protocols

LARGEST = 6


def _own_members(protocol: type[Any]) -> list[str]:
    return [
        name
        for name, value in vars(protocol).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
    ]


def test_no_protocol_declares_more_than_six_members() -> None:
    found = [value for value in vars(protocols).values() if inspect.isclass(value) and getattr(value, "_is_protocol", False)]

    assert len(found) > 20
    assert {each.__name__: names for each in found if len(names := _own_members(each)) > LARGEST} == {}
