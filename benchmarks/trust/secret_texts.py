"""Secrets: whether one is anywhere in a store, and what is replaced that is none."""

import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.gates import Gate
from benchmarks.trust.halves import rows_of

if TYPE_CHECKING:
    from alma import ALMA

_ATOM = re.compile(r"(\[(?:\\.|[^\]])+\]|\\.|[^\[])(?:\{(\d+)\})?", re.DOTALL)
_RANGE = re.compile(r"([A-Za-z0-9])-([A-Za-z0-9])|(.)", re.DOTALL)
LOOKALIKES = ("lookalike", "placeholder", "prose")
MOST_FALSE, MOST_FALSE_OF_GITLEAKS = 0.01, 0.05


def forged(shape: str, seed: object) -> str:
    """A random text of a shape: literal characters and classes, each with an optional count."""
    chance, made = random.Random(seed), ""
    for atom, count in _ATOM.findall(shape):
        choices = atom[-1] if atom[0] != "[" else "".join(map(_spread, _RANGE.findall(atom[1:-1].replace("\\", ""))))
        made += "".join(chance.choice(choices) for _ in range(int(count or 1)))
    return made


def _spread(found: tuple[str, str, str]) -> str:
    first, last, other = found
    return other or "".join(map(chr, range(ord(first), ord(last) + 1)))


def texts_of(row: dict[str, Any]) -> tuple[str, str]:
    """The text of a row, and the secret or look-alike in it."""
    inside = forged(row["shape"], row["seed"]) if row["shape"] else ""
    return row["template"].replace("{S}", inside), inside


def figures(data: Path, half: str, embedder: str, folder: Path) -> list[Gate]:
    """What of the secrets is in the files, the export and a prompt; what is replaced that is none."""
    rows = rows_of(data / "secrets_dev.jsonl.gz", half)
    secrets = [texts_of(row) for row in rows if row["label"] == "secret"]
    benign = [row for row in rows if row["label"] != "secret"]
    plain = [row for row in benign if row["family"] in LOOKALIKES]
    others = [row for row in benign if row["family"] not in LOOKALIKES]
    return [
        *_leaks(secrets, embedder, folder),
        Gate(f"replaced of {len(plain)} look-alikes, placeholders, prose", _replaced(plain), "", MOST_FALSE),
        Gate(f"replaced of gitleaks' {len(others)} negatives", _replaced(others), "", MOST_FALSE_OF_GITLEAKS),
    ]


def _replaced(rows: Sequence[dict[str, Any]]) -> float:
    from alma_guard import Redactor

    redact = Redactor(b"benchmark")
    changed = [text for text, _ in map(texts_of, rows) if redact(text) != text]
    return len(changed) / max(len(rows), 1)


def _leaks(secrets: Sequence[tuple[str, str]], embedder: str, folder: Path) -> list[Gate]:
    from alma import ALMA

    with ALMA.open(folder / "store", project_id="trust", embedding_provider=embedder) as alma:
        _record(alma, [text for text, _ in secrets])
        prompts = [_prompt(alma, text) for text, _ in secrets]
        alma.export(folder / "export.jsonl")
    files = b"".join(path.read_bytes() for path in (folder / "store").rglob("*") if path.is_file())
    export = (folder / "export.jsonl").read_text(encoding="utf-8")
    words = [secret for _, secret in secrets]
    return [
        Gate(f"of {len(words)} secrets in the database", _share(secret.encode() in files for secret in words), "", 0.0),
        Gate("in the export", _share(secret in export or repr(secret)[1:-1] in export for secret in words), "", 0.0),
        Gate("in the prompt that asks for it", _share(map(str.__contains__, prompts, words)), "", 0.0),
    ]


def _record(alma: "ALMA", texts: Sequence[str]) -> None:
    """Each text by another way in."""
    for number, text in enumerate(texts):
        match number % 4:
            case 0:
                alma.learn("dev", text, "failure", f"Way {number}", error_message=text, feedback=text, metadata={"note": text})
            case 1:
                alma.add_domain_knowledge("dev", "setup", text)
            case 2:
                with alma.episode("dev", f"Task {number}") as episode:
                    episode.step(f"step {number}", ok=False, error=text, output=text)
                    episode.fail(error=text, feedback=text)
            case _:
                alma.add_anti_pattern("dev", text, text, text)


def _prompt(alma: "ALMA", text: str) -> str:
    return alma.retrieve(task=text, agent="dev").to_prompt(4_000)


def _share(found: Iterable[bool]) -> float:
    all_of_them = list(found)
    return sum(all_of_them) / max(len(all_of_them), 1)
