"""Each operation of the journal has a meaning: what a program writes is an event, or says that it is none."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from alma_events.mapping import OPERATIONS, meaning_of

PACKAGES = Path(__file__).resolve().parents[2] / "packages"
SOURCES = [
    path for path in PACKAGES.glob("*/src/**/*.py") if "alma_testing" not in path.parts and "alma_events" not in path.parts
]


def operations_written(tree: ast.Module) -> Iterator[str]:
    """Yields the operations that a module gives to a write: the arguments `operation` and `call`, the names that are assigned to one, and the
    first argument of `_write`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in ("operation", "call"):
            yield from _texts(node.value)
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id.lower() == "operation" for to in node.targets):
            yield from _texts(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "_write" and node.args:
            yield from _texts(node.args[0])


def _texts(node: ast.expr) -> Iterator[str]:
    parts = (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,)
    yield from (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def test_each_operation_that_a_package_writes_has_a_meaning() -> None:
    found = {name for path in SOURCES for name in operations_written(ast.parse(path.read_text(encoding="utf-8")))}
    assert len(found) > 20
    assert {name for name in found if name not in OPERATIONS} == set()


def test_the_operations_of_the_journal_itself_have_a_meaning() -> None:
    from alma import journal

    assert {journal.UPGRADED, journal.REBUILD, journal.PURGE} <= OPERATIONS.keys()


def test_the_table_names_no_operation_that_is_not_written() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    assert [name for name in OPERATIONS if f'"{name}"' not in text] == []


@pytest.mark.parametrize("kind", ["session.session", "progress.item", "agents.runs"])
def test_records_of_packages_are_no_events(kind: str) -> None:
    assert meaning_of(kind).is_silent


def test_an_operation_of_a_newer_version_is_read_by_its_rows(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        known = alma.add_domain_knowledge("victor", "auth", "tokens live an hour")
        with alma.storage.project("shop").write(actor="", operation="invented_tomorrow", at=1) as write:
            write.change_memory(known.id, archived_at=1)
        last = list(alma.events())[-1]
    assert (last.event_type, last.memory_id, last.operation) == ("memory.deleted", known.id, "invented_tomorrow")
