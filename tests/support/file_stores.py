"""Projects in readable files."""

from pathlib import Path

from alma import ALMA

TASK = "Test the login form"


def opened(folder: Path, **given: object) -> ALMA:
    return ALMA.open(folder, **{"project_id": "shop", "storage": "file", "embedding_provider": "hash", **given})


def journal_of(folder: Path) -> Path:
    return folder / "alma.files" / "shop.jsonl"


def head_of(folder: Path) -> Path:
    return folder / "alma.files" / "shop.head"


def learned(folder: Path, count: int = 3) -> None:
    with opened(folder) as alma:
        for number in range(count):
            alma.learn("helena", f"{TASK} {number}", "success", f"Try field {number}")
