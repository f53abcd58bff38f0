"""CrewAI in a folder of its own, without telemetry, and an ALMA for each test."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import offline
from alma import ALMA
from crews import ALMAMemory, crewai_event_bus


def pytest_configure(config: pytest.Config) -> None:
    for module in ("crewai", "pydantic"):  # CrewAI reads fields of its own that it has deprecated
        config.addinivalue_line("filterwarnings", f"ignore::DeprecationWarning:{module}")


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crewai"))
    monkeypatch.chdir(tmp_path)
    crewai_event_bus.reset_runtime_state()  # agents of earlier tests, which a checkpoint would hold too
    assert "OPENAI_API_KEY" not in os.environ


@pytest.fixture(autouse=True)
def attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """CrewAI goes on when a connection fails, so each attempt to leave this machine is noted: there is none."""
    noted: list[str] = []

    class Noted(offline.NetworkBlockedError):
        def __init__(self, what: str) -> None:
            noted.append(what)
            super().__init__(what)

    monkeypatch.setattr(offline, "NetworkBlockedError", Noted)
    yield noted
    assert noted == []


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "alma", project_id="crews", embedding_provider="hash") as opened:
        yield opened


@pytest.fixture
def memory(alma: ALMA) -> Iterator[ALMAMemory]:
    made = ALMAMemory(alma)
    yield made
    made.close()
