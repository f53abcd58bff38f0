"""Past transcripts into the memory: streaming, the same file twice adds nothing, torn lines and unknown records are counted."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from alma import ALMA
from alma.errors import ValidationError
from alma_agents.attempts import Attempt, attempts
from alma_agents.learning import learned
from alma_agents.transcripts import events, format_of, records

_ENDINGS = (".jsonl", ".json")


@dataclass(slots=True)
class IngestReport:
    """Counts of one ingestion. `saved` counts what was new, `known` what had been learned before."""

    files: int = 0
    sessions: int = 0
    attempts: int = 0
    saved: int = 0
    known: int = 0
    torn: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    outcomes: list[str] = field(default_factory=list)
    domain_knowledge: list[str] = field(default_factory=list)
    user_preferences: list[str] = field(default_factory=list)
    anti_patterns: list[str] = field(default_factory=list)


def ingest_conversations(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, alma: ALMA) -> IngestReport:
    """Learns from the transcripts in files and folders. Repairs become outcomes of their host, judged "imported".

    Nothing in a transcript is opened as a path. `ValidationError` for a path that does not exist.
    """
    named = [path] if isinstance(path, str | os.PathLike) else list(path)
    report = IngestReport()
    before = alma.get_stats()["outcomes_count"]
    for file in _files(Path(each) for each in named):
        _ingest(alma, file, report)
    report.saved = int(alma.get_stats()["outcomes_count"]) - int(before)
    report.known = report.attempts - report.saved
    return report


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise ValidationError(f"{path} does not exist; name a transcript or a folder of transcripts")
        if path.is_dir():
            yield from (
                each for each in sorted(path.rglob("*")) if each.suffix in _ENDINGS and each.is_file() and not each.is_symlink()
            )
        else:
            yield path


def _ingest(alma: ALMA, file: Path, report: IngestReport) -> None:
    report.files += 1
    by_session: dict[str, list[Any]] = {}
    with file.open("rb") as opened:
        whole = _good(opened, report)
        head = list(islice(whole, 30))
        host = format_of(head)
        if not host:
            report.skipped[str(file)] = "unknown format"
            return
        for event in events(host, chain(head, whole)):
            by_session.setdefault(event.session, []).append(event)
    report.sessions += len(by_session)
    found: list[Attempt] = [each for session in by_session.values() for each in attempts(session)]
    report.attempts += len(found)
    report.outcomes += [outcome.id for outcome in learned(alma, found, source="imported")]


def _good(lines: Iterable[bytes], report: IngestReport) -> Iterator[dict[str, Any]]:
    for record in records(lines):
        if record is None:
            report.torn += 1
        else:
            yield record


def report_as_json(report: IngestReport) -> dict[str, Any]:
    """Returns the counts of a report as plain values."""
    counts = ("files", "sessions", "attempts", "saved", "known", "torn", "skipped")
    return json.loads(json.dumps({name: getattr(report, name) for name in counts}))  # type: ignore[no-any-return] # an object
