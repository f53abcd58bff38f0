"""`alma export`, `import`, `list`, `show` and `add`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from alma import ALMA
from alma.errors import ValidationError
from alma_cli.app import app
from alma_cli.commands.add import parsed
from meetings import MEETING


@pytest.fixture
def shop(project):
    """A project with a memory of each of two agents, and meetings registered."""
    with ALMA.from_config(".alma/config.yaml") as alma:
        alma.register_memory_type(MEETING)
    project("learn", "-a", "helena", "-t", "Test the login form", "-o", "success", "-s", "by hand")
    project("add", "domain_knowledge", "-a", "victor", "domain=auth", "fact=Tokens last 24 hours = a day")
    return project


def test_what_is_exported_is_imported_elsewhere(shop, tmp_path: Path) -> None:
    exported = shop("export", "backup.jsonl", "--json").json
    shop("init", "--config", "other/.alma/config.yaml", "--embedder", "hash")
    imported = shop("import", "backup.jsonl", "--config", "other/.alma/config.yaml", "--json").json

    assert (exported["file"], exported["counts"]["memories"]) == ("backup.jsonl", 2)
    assert imported["stored"] == exported["counts"]
    assert "Tokens" in shop("list", "--config", "other/.alma/config.yaml").out


def test_a_person_is_told_in_a_line(shop) -> None:
    assert shop("export", "x.jsonl").out.startswith("Exported 2 memories (0 archived) and 1 record, ")
    assert "2 memories and 1 record were there already" in shop("import", "x.jsonl", "--skip").out


def test_an_existing_file_is_only_written_over_by_force(shop) -> None:
    Path("x.jsonl").write_text("mine", encoding="utf-8")

    assert "--force" in shop("export", "x.jsonl", code=2).err
    assert Path("x.jsonl").read_text(encoding="utf-8") == "mine"
    shop("export", "x.jsonl", "--force", "--agent", "victor", "--vectors")
    assert "Tokens" in Path("x.jsonl").read_text(encoding="utf-8")
    assert "login" not in Path("x.jsonl").read_text(encoding="utf-8")


@pytest.mark.slow
def test_standard_output_holds_the_export_and_nothing_else(shop) -> None:
    command = [sys.executable, "-m", "alma"]
    exported = subprocess.run([*command, "export", "-"], capture_output=True, check=True)
    assert json.loads(exported.stdout.splitlines()[0])["format"] == "alma-export"
    assert b"Exported 2 memories" in exported.stderr

    imported = subprocess.run(
        [*command, "import", "-", "--skip", "--json"], input=exported.stdout, capture_output=True, check=True
    )
    assert json.loads(imported.stdout)["skipped"]["memories"] == 2
    assert "leave --json out" in shop("export", "-", "--json", code=2).err


@pytest.mark.parametrize(
    ("content", "code", "told"), [("{}\n", 2, "no export of ALMA"), ("", 2, "no export of ALMA"), (None, 3, "cannot be read")]
)
def test_a_file_that_is_no_export_is_told(shop, content: str | None, code: int, told: str) -> None:
    if content is not None:
        Path("x.jsonl").write_text(content, encoding="utf-8")
    assert told in shop("import", "x.jsonl", code=code).err


def test_what_is_there_already_is_refused(shop) -> None:
    shop("export", "x.jsonl")
    assert "--skip" in shop("import", "--help").out
    assert "nothing was stored" in shop("import", "x.jsonl", code=4).err


def test_a_list_is_narrowed_and_a_memory_shown(shop) -> None:
    (outcome,) = shop("list", "--agent", "helena", "--json").json["memories"]

    assert outcome["task_description"] == "Test the login form"
    assert [memory["kind"] for memory in shop("list", "-k", "domain_knowledge", "--json").json["memories"]] == [
        "domain_knowledge"
    ]
    assert shop("list", "--since", "2999-01-01").out == "There is no such memory.\n"
    assert "did you mean" in shop("list", "--kind", "outcom", code=2).err
    told = shop("list").out
    assert outcome["id"] in told
    assert "success: Test the login form" in told
    assert shop("show", outcome["id"], "--json").json == outcome
    assert "Test the login form" in shop("show", outcome["id"]).out
    assert "no memory" in shop("show", "nothing", code=4).err


def test_a_registered_kind_is_added_with_fields_of_the_right_types(shop) -> None:
    words = [
        "title=Kickoff",
        "attendees=Ann",
        "attendees=Bo",
        "summary=We chose PostgreSQL",
        'action_items=["Write", "Ask"]',
        "date=2026-02-03",
    ]
    added = shop("add", "meeting_note", "-a", "dev", *words, "--json").json

    assert added["fields"]["attendees"] == ["Ann", "Bo"]
    assert added["fields"]["action_items"] == ["Write", "Ask"]
    assert added["fields"]["date"] == "2026-02-03T00:00:00Z"
    shown = shop("show", added["id"]).out
    assert "attendees" in shown
    assert "PostgreSQL" in shown
    assert shop("retrieve", "PostgreSQL", "-a", "dev", "--json").json["recalled"][0]["tag"] == "C1"
    assert "meeting_note.date" in shop("add", "meeting_note", "-a", "dev", *words[:-1], "date=soon", code=2).err
    assert shop("add", "outcome", "-a", "dev", "task=t", "outcome=success", "duration_ms=5").out.startswith("Added outcome: ")


@pytest.mark.parametrize(
    ("pairs", "match"),
    [
        (["title"], "should be FIELD=VALUE"),
        (["=x"], "should be FIELD=VALUE"),
        (["agent=x"], "should be FIELD=VALUE"),
        (["title=a", "title=b"], "given twice"),
    ],
)
def test_words_that_are_no_fields_are_told(pairs: list[str], match: str) -> None:
    with pytest.raises(ValidationError, match=match):
        parsed(pairs, {})


def test_values_are_read_by_the_type_of_their_field() -> None:
    types = {"counts": dict[str, int], "any": Any, "name": str, "tags": list[str] | None, "more": Any | None}
    assert parsed(['counts={"a": 1}', "any=[1, 2]", "name=[1]", "tags=[", "more=plain"], types) == {
        "counts": {"a": 1},
        "any": [1, 2],
        "name": "[1]",
        "tags": ["["],
        "more": "plain",
    }


def test_a_list_breaks_no_kind_in_two_on_a_narrow_terminal(shop) -> None:
    told = CliRunner().invoke(app, ["list"], env={"COLUMNS": "80"}, prog_name="alma").stdout

    assert "domain_knowledge" in told


def test_agent_runs_of_traces_are_recorded_once(project: Any, folder: Path) -> None:
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}},
        {"key": "gen_ai.input.messages", "value": {"stringValue": "Deploy the shop"}},
    ]
    span = {"traceId": "a1", "spanId": "b2", "name": "run", "attributes": attributes}
    (folder / "traces.json").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))

    first = project("ingest-traces", "traces.json", "--agent", "helena")
    again = project("ingest-traces", "traces.json", "--agent", "helena", "--json")

    assert first.out == "Recorded 1 runs with 0 steps; 0 were known, 0 spans are of no run\n"
    assert (again.json["episode_ids"], again.json["known"]) == ([], 1)


def test_the_export_of_a_clone_is_merged(shop) -> None:
    shop("export", "x.jsonl")
    shop("init", "--config", "other/.alma/config.yaml", "--embedder", "hash")
    shop("import", "x.jsonl", "--config", "other/.alma/config.yaml")
    (fact,) = shop("list", "--kind", "domain_knowledge", "--json").json["memories"]
    shop("forget", fact["id"], "--yes")
    shop("export", "x.jsonl", "--force")
    told = shop("import", "x.jsonl", "--merge", "--config", "other/.alma/config.yaml").out
    assert "changed 1, deleted 0" in told
    assert "Tokens" not in shop("list", "--config", "other/.alma/config.yaml").out
    assert "give one of them" in shop("import", "x.jsonl", "--merge", "--skip", code=2).err


def test_a_file_of_somebody_else_is_looked_at_and_imported_as_such(shop, tmp_path: Path) -> None:
    shop("export", "theirs.jsonl")
    shop("init", "--config", "mine/.alma/config.yaml", "--embedder", "hash")

    trial = shop("import", "theirs.jsonl", "--untrusted", "--dry-run", "--config", "mine/.alma/config.yaml").out
    report = shop("import", "theirs.jsonl", "--untrusted", "--config", "mine/.alma/config.yaml", "--json").json

    assert "Would import 2 memories" in trial
    assert {kind["kind"]: kind["stored"] for kind in report["kinds"]} == {"domain_knowledge": 1, "outcome": 1}
    assert "imported" in shop("list", "--config", "mine/.alma/config.yaml", "--json").out
    assert "--from and --untrusted" in shop("import", "theirs.jsonl", "--untrusted", "--skip", code=2).err
    assert "--dry-run needs --from or --untrusted" in shop("import", "theirs.jsonl", "--dry-run", code=2).err
