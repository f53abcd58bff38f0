"""Helpers for purge tests: a unique text, and a search for it in every byte of a store's files."""

from pathlib import Path

from alma import ALMA
from alma.types.reports import ForgetReport

SECRET = "Xylophone Zugzwang of the Quokka"
WORDS = ("xylophon", "zugzwang", "quokka")
"""What is left of the secret in the full text: the stems of its words."""


def store_files(folder: Path) -> bytes:
    """Every byte of every file of the store."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def traces(folder: Path, *needles: bytes) -> list[bytes]:
    """The needles that are in the files: words in any case, in UTF-8 and UTF-16, and bytes as they are."""
    held_bytes = store_files(folder)
    lowered = held_bytes.lower()
    words = [form for word in WORDS for form in (word.encode(), word.encode("utf-16-le"), word.encode("utf-16-be"))]
    return [form for form in words if form in lowered] + [needle for needle in needles if needle in held_bytes]


def surfaces(report: ForgetReport) -> dict[str, int | None]:
    assert report.receipt is not None
    return {surface.name: surface.found for surface in report.receipt.surfaces}


def vector_of(alma: ALMA, text: str) -> bytes:
    """Returns the stored vector of a text. `KeyError` if there is none."""
    return alma.storage.project(alma.project_id).vectors([text])[text]
