"""Processes that learn on a server, and note what was acknowledged."""

from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

from alma import ALMA
from alma.errors import StorageError


def opened(url: str, folder: str) -> ALMA:
    """The project that all of them write to."""
    return ALMA.open(folder, project_id="shop", embedding_provider="hash", storage=url)


def learn(url: str, folder: str, writer: int, calls: int) -> None:
    """Learns so often. What returned is noted as acknowledged, what raised as failed, each with its message."""
    notes = Path(folder, f"writer-{writer}")
    with opened(url, folder) as alma, notes.open("w", buffering=1) as noted:
        for call in range(calls):
            task = f"Task {call} of writer {writer}"
            try:
                outcome = alma.learn(f"agent-{writer % 2}", task, "success", f"way {call % 5}")
            except StorageError as error:
                noted.write(f"failed\t{task}\t{error}\n")
            else:
                noted.write(f"stored\t{task}\t{outcome.id}\n")


def started(url: str, folder: Path, *, writers: int, calls: int) -> list[BaseProcess]:
    """As many processes, running. None outlives this one: after a test that failed it would wait for them at its end."""
    new = get_context("spawn").Process
    made = [new(target=learn, args=(url, str(folder), number, calls), daemon=True) for number in range(writers)]
    for process in made:
        process.start()
    return made


def notes_by_writer(folder: Path, writers: int) -> list[list[list[str]]]:
    """What each of them noted: what happened, the task, and the memory's id or the error."""
    files = [folder / f"writer-{number}" for number in range(writers)]
    return [[line.split("\t") for line in file.read_text().splitlines()] if file.exists() else [] for file in files]


def notes(folder: Path) -> list[list[str]]:
    """All that they noted."""
    return [note for told in notes_by_writer(folder, len(list(folder.glob("writer-*")))) for note in told]
