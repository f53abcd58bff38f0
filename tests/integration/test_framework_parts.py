"""What an adapter relies on in a framework beside its documented interface is checked, and what is missing is named once."""

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel, PrivateAttr

from alma.integration import check_parts


class Base:
    manager: Any

    def __init__(self, tools: Any) -> None:
        self.tools = tools

    def run(self, *, stream: bool = False) -> None:
        """Runs."""


class Inner(Base):
    pass


class Model(BaseModel):
    name: str
    _memory: Any = PrivateAttr(default=None)


@dataclass
class Record:
    key: str


def call(schedule_task: Any) -> None:
    """Calls."""


@pytest.fixture(autouse=True)
def framework(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("frame_work")
    for each in (Base, Inner, Model, Record, call):
        setattr(module, each.__name__, each)
    module.NAME = "__call"
    monkeypatch.setitem(sys.modules, "frame_work", module)


THERE = [
    *("Base.run", "Base.manager", "Inner.manager", "Inner.run(stream)", "Base(tools)", "Inner(tools)"),
    *("Model._memory", "Model.name", "Record.key", "call", "call(schedule_task)", "NAME"),
]
GONE = [
    *("Base.ran", "Inner.managers", "Base.run(streams)", "Base(tool)", "Model._memories", "Model.names"),
    *("Record.keys", "called", "call(schedule)", "NAMES", "NAME(x)", "Base.run.further"),
]


@pytest.mark.parametrize("part", THERE)
def test_a_part_that_is_there_is_no_warning(part: str, caplog: pytest.LogCaptureFixture) -> None:
    assert check_parts("alma-x", "frame-work", [f"frame_work:{part}"]) == []
    assert not caplog.messages


@pytest.mark.parametrize("part", [f"frame_work:{each}" for each in GONE] + ["frame_work.inner:Base", "no_such_framework:Base"])
def test_a_part_that_is_gone_is_named(part: str, caplog: pytest.LogCaptureFixture) -> None:
    assert check_parts("alma-x", "frame-work", [part]) == [part]
    assert part in caplog.text


def test_what_is_gone_is_said_in_one_warning_with_the_version(caplog: pytest.LogCaptureFixture) -> None:
    check_parts("alma-x", "pydantic", ["frame_work:Base.ran", "frame_work:Base.run", "frame_work:called"])
    (said,) = caplog.messages
    assert "alma-x relies on what pydantic 2." in said
    assert "frame_work:Base.ran, frame_work:called." in said
