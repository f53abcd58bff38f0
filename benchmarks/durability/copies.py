"""What calls left outside of the store: exports and backups are whole, and a killed one leaves no draft that the next does not remove."""

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from alma import ALMA
from alma.errors import AlmaError
from benchmarks.durability.findings import Findings
from benchmarks.durability.ledgers import Account
from benchmarks.durability.sights import is_whole_export
from benchmarks.durability.stores import opened

EXPORT, BACKUP = ".export", ".backup"


def check_copies(alma: ALMA, told: Iterable[Account], files: Path, findings: Findings) -> None:
    """Checks all of them, and makes one more of each name: that clears away what killed ones have left."""
    for path in sorted(files.glob(f"*{EXPORT}")):
        findings.checked["exports"] += 1
        if not is_whole_export(path):
            findings.add("half", f"the export {path.name} is not whole")
    reported = {
        done.ids["file"]: done.ids for account in told for done in account.calls if done.intent.call == "backup" and done.ids
    }
    for path in sorted(files.glob(f"*{BACKUP}")):
        _check_backup(alma, path, reported.get(str(path), {}), findings)
    for path in drafts(files):
        _make_again(alma, path, findings)
    for path in drafts(files):
        findings.add("files", f"{path.name}, the draft of a killed call, outlives the next one")


def drafts(files: Path) -> list[Path]:
    """The temporary files among exports and backups."""
    return [path for path in sorted(files.glob(".*")) if EXPORT in path.name or BACKUP in path.name]


def _make_again(alma: ALMA, draft: Path, findings: Findings) -> None:
    """Makes an export or a backup of the name that the draft is of."""
    findings.checked["drafts of killed calls"] += 1
    for suffix, make in ((EXPORT, alma.export), (BACKUP, getattr(alma, "backup", None))):
        stem, found, _ = draft.name.lstrip(".").partition(suffix)
        if found and make is not None:
            target = draft.with_name(f"{stem}{suffix}")
            target.unlink(missing_ok=True)
            make(target)


def _check_backup(original: ALMA, path: Path, reported: Mapping[str, str], findings: Findings) -> None:
    findings.checked["backups"] += 1
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        store = Path(folder) / "store"
        store.mkdir()
        shutil.copy(path, store / "alma.db")
        try:
            with opened(store) as alma:
                _compare(alma, original, path.name, reported, findings)
        except AlmaError as error:
            findings.add("half", f"the backup {path.name} cannot be opened: {error}")


def _compare(alma: ALMA, original: ALMA, name: str, heads: Mapping[str, str], findings: Findings) -> None:
    """Whether a backup is sound, and every journal in it one that the store had: the hash of a record stands for all before it."""
    problems = alma.verify().problems
    if problems:
        findings.add("half", f"the backup {name}: {problems[0]}")
    for project, seq in heads.items():
        if project != "file" and not _is_prefix(alma.for_project(project), original.for_project(project), int(seq)):
            findings.add("half", f"the backup {name}: {project} is not what it was at record {seq}")


def _is_prefix(copy: ALMA, original: ALMA, seq: int) -> bool:
    return bool(found := copy._room.project.head_at(seq)) and found == original._room.project.head_at(seq)
