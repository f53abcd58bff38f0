"""Exports of chats: the words of who spoke, on the path that was not abandoned, once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import chat_exports as exports
from alma import ALMA
from alma.errors import ValidationError
from alma.ingestion import ingest_conversations
from alma_cli.app import app
from alma_knowledge.extraction import statements


@pytest.fixture
def alma(tmp_path: Path):
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as opened:
        yield opened


def turns(alma: ALMA, **known) -> list[tuple[str, str, bool]]:
    return [tuple(turn) for one in alma.list_memories("conversation", **known) for turn in one.turns]


WRITTEN = {
    "chatgpt": lambda folder: exports.chatgpt(folder / "conversations.json"),
    "shards": lambda folder: exports.chatgpt(folder / "export.zip", shards=True),
    "claude-ai": lambda folder: exports.claude_ai(folder / "conversations.json"),
    "slack": lambda folder: exports.slack(folder / "slack"),
    "slack zip": exports.slack_zip,
    "text": lambda folder: exports.text(folder / "chat.md"),
}


@pytest.mark.parametrize("form", WRITTEN)
def test_a_second_run_adds_nothing(form: str, alma: ALMA, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file = WRITTEN[form](tmp_path / "in")

    first = ingest_conversations(file, alma=alma, user_id="u")
    again = ingest_conversations([file], alma=alma, user_id="u")
    os.utime(file)
    touched = ingest_conversations(str(file), alma=alma, user_id="u")

    assert first.saved > first.conversations > 0
    assert (again.saved, again.replaced, touched.saved, touched.replaced) == (0, 0, 0, 0)
    assert again.known == touched.known == first.saved


def test_of_chatgpt_the_branch_that_was_kept_is_read(alma: ALMA, tmp_path: Path) -> None:
    report = ingest_conversations(exports.chatgpt(tmp_path / "c.json"), alma=alma, user_id="u")

    assert turns(alma, user_id="u") == [
        ("user", "We decided to use PostgreSQL for billing.", True),
        ("assistant", "PostgreSQL it is.", False),
        ("user", "From now on always use UTC timestamps.", True),
    ]
    assert [one.fact for one in report.domain_knowledge] == ["We decided to use PostgreSQL for billing."]
    assert [one.preference for one in report.user_preferences] == ["From now on always use UTC timestamps."]
    assert alma.list_memories("conversation", user_id="u")[0].held_at.year == 2026


def test_what_is_learned_has_the_time_of_its_message(alma: ALMA, tmp_path: Path) -> None:
    chat = exports.chatgpt_chat(create_time=1_700_000_000)
    said = {
        "We decided to use Redis for the queue.": 1_710_000_000,
        "Never sleep in tests because it makes them flaky.": None,
        "I prefer small functions.": 1_720_000_000,
        "From now on write tests first.": 1_715_000_000.5,
    }
    for number, (text, at) in enumerate(said.items()):
        parent = "last" if not number else f"n{number - 1}"
        chat["mapping"] |= exports.node(f"n{number}", parent, "user", text, create_time=at)
    again = {**chat["mapping"], **exports.node("n4", "n3", "user", "I prefer small functions.", create_time=1_730_000_000)}
    (tmp_path / "c.json").write_text(json.dumps([{**chat, "mapping": again, "current_node": "n4"}]))
    report = ingest_conversations(tmp_path / "c.json", alma=alma, user_id="u")

    known = {one.text: one.last_verified for one in report.domain_knowledge} | {
        one.text: one.last_seen for one in report.anti_patterns
    }
    known |= {one.preference: one.timestamp for one in report.user_preferences}
    assert {text: at.timestamp() for text, at in known.items()} == {
        "We decided to use PostgreSQL for billing.": 1_700_000_000,  # the chat's: its messages have none
        "From now on always use UTC timestamps.": 1_700_000_000,
        "We decided to use Redis for the queue.": 1_710_000_000,
        "Never sleep in tests because it makes them flaky.": 1_710_000_000,  # that of the message before
        "I prefer small functions.": 1_730_000_000,  # said again later
        "From now on write tests first.": 1_715_000_000.5,
    }


def test_a_preference_of_an_old_chat_is_older_than_one_stated_since(alma: ALMA, tmp_path: Path) -> None:
    alma.add_user_preference("u", "style", "I prefer tabs over spaces.")
    ingest_conversations(exports.claude_ai(tmp_path / "c.json"), alma=alma, user_id="u")
    (old,) = (one for one in alma.list_memories("user_preference", user_id="u") if one.category == "stated")
    assert f"{old.timestamp:%Y-%m}" == "2026-01"


def test_a_message_of_slack_dates_what_it_states(alma: ALMA, tmp_path: Path) -> None:
    report = ingest_conversations(exports.slack(tmp_path / "slack"), alma=alma)
    (held,) = (one.held_at for one in alma.list_memories("conversation") if "queue" in one.text)
    assert held <= report.domain_knowledge[0].last_verified < alma.list_memories("conversation")[0].created_at


def test_all_shards_of_an_archive_are_read_and_nothing_is_unpacked(alma: ALMA, tmp_path: Path) -> None:
    report = ingest_conversations(exports.chatgpt(tmp_path / "e.zip", shards=True), alma=alma)

    assert report.conversations == 3
    assert {path.name for path in tmp_path.parent.rglob("evil.json")} == set()


def test_of_claude_ai_the_newest_branch_is_read(alma: ALMA, tmp_path: Path) -> None:
    report = ingest_conversations(exports.claude_ai(tmp_path / "c.json"), alma=alma, user_id="u")

    assert [text for _, text, _ in turns(alma, user_id="u")][1:] == ["I prefer tabs.", "I prefer spaces over tabs."]
    assert [one.preference for one in report.user_preferences] == ["I prefer spaces over tabs."]
    (warning,) = report.anti_patterns
    assert warning.why_bad.startswith("it hides migrations")


def test_without_a_user_nobody_has_preferences(alma: ALMA, tmp_path: Path) -> None:
    report = ingest_conversations(exports.claude_ai(tmp_path / "c.json"), alma=alma)

    assert (report.user_preferences, report.conversations) == ([], 1)
    assert alma.list_memories("user_preference") == []


@pytest.mark.parametrize("written", [lambda folder: exports.slack(folder / "slack"), exports.slack_zip])
def test_a_thread_of_slack_is_one_conversation_over_days(written, alma: ALMA, tmp_path: Path) -> None:
    report = ingest_conversations(written(tmp_path), alma=alma)

    said = [[(turn.speaker, turn.text) for turn in one.turns] for one in alma.list_memories("conversation")]
    assert [("Ann", "Which queue & why <now>?"), ("Bo", "We agreed on Redis for the queue.")] in said
    assert [("Bo", "Hi @Ann, see the page"), ("B1", "We decided to use the bot.")] in said
    assert [one.fact for one in report.domain_knowledge] == ["We agreed on Redis for the queue."]


def test_a_torn_export_keeps_what_was_whole(alma: ALMA, tmp_path: Path) -> None:
    report = ingest_conversations(exports.chatgpt(tmp_path / "c.json", torn=True), alma=alma)

    assert (report.conversations, report.torn) == (1, 1)
    assert len(alma.list_memories("conversation")) == 1


def test_a_conversation_that_grew_replaces_what_was_stored(alma: ALMA, tmp_path: Path) -> None:
    file = exports.chatgpt(tmp_path / "c.json")
    ingest_conversations(file, alma=alma)
    chat = exports.chatgpt_chat()
    chat["mapping"] |= exports.node("more", "last", "assistant", "Understood.")
    file.write_text(json.dumps([{**chat, "current_node": "more"}]))
    report = ingest_conversations(file, alma=alma)

    assert len(alma.list_memories("conversation")) == 1
    assert turns(alma)[-1] == ("assistant", "Understood.", False)
    assert report.replaced == report.saved == 2


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text(json.dumps([exports.chatgpt_chat(f"c{number}") for number in range(400)]))
    script = (
        "import os, sys\nfrom alma import ALMA\nfrom alma_agents import storing\n"
        "from alma.ingestion import ingest_conversations\n"
        "plain = storing.Shelf._archive\n"
        "def killed(self, ids, count=[]):\n    count.append(1)\n    os._exit(9) if len(count) == 2 else plain(self, ids)\n"
        "storing.Shelf._archive = killed\n"
        "alma = ALMA.open(sys.argv[1], project_id='p', embedding_provider='hash')\ningest_conversations(sys.argv[2], alma=alma)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path / "store"), str(file)], check=False)
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        report = ingest_conversations(file, alma=alma)
        stored = len(alma.list_memories("conversation", limit=1_000))

    assert killed.returncode == 9
    assert stored == 400
    assert report.conversations == 200


def test_secrets_of_a_chat_are_not_stored(alma: ALMA, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    (tmp_path / "c.txt").write_text(f"User: We decided to use {token} here.\nAssistant: ok\nUser: fine then\n")
    ingest_conversations(tmp_path / "c.txt", alma=alma)

    assert token not in str([one.model_dump() for one in alma.list_memories(limit=100)])
    assert turns(alma)


def test_what_is_no_chat_is_named(alma: ALMA, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nUser: one line\n")
    (tmp_path / "odd.json").write_text('{"a": 1}')
    (tmp_path / "bad.zip").write_bytes(b"PK")
    report = ingest_conversations(tmp_path, alma=alma)

    assert {Path(name).name: reason.split(":")[0] for name, reason in report.skipped.items()} == {
        "notes.md": "no chat", "odd.json": "unknown format", "bad.zip": "not an archive",
    }  # fmt: skip
    assert report.saved == 0


def test_one_of_alma_and_project_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="project_id"):
        ingest_conversations(exports.text(tmp_path / "c.md"))


def test_a_name_opens_a_project_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ALMA.open(".alma", project_id="shop", embedding_provider="hash").close()
    report = ingest_conversations(exports.text(tmp_path / "c.md"), "dev", "shop")

    with ALMA.open(".alma", project_id="shop", embedding_provider="hash") as alma:
        assert [one.agent for one in alma.list_memories("domain_knowledge")] == ["dev"]
    assert report.saved == 2


STATED = (
    ("We decided to use Redis for the queue.", "decision"),
    ("I've decided to drop Python 3.9.", "decision"),
    ("Ok, let's use uv for everything.", "decision"),
    ("We switched from npm to pnpm last week.", "decision"),
    ("We're going with Tailwind.", "decision"),
    ("Decision: one database per tenant.", "decision"),
    ("Always run the linter before you commit.", "preference"),
    ("Please never commit to main.", "preference"),
    ("I prefer small functions.", "preference"),
    ("From now on write tests first.", "preference"),
    ("Don't use emojis ever again.", "preference"),
    ("No, use pytest instead.", "preference"),
    ("Never sleep in tests because it makes them flaky.", "warning"),
    ("Avoid global state since it breaks the workers.", "warning"),
    ("Should we use Redis?", None),
    ("Maybe we should go with Kafka.", None),
    ("If we decided to use Kafka, we would need Java.", None),
    ("You should always use strict mode.", None),
    ("They said they prefer tabs.", None),
    ("I never saw this error before.", None),
    ("The default pattern is a better approach because of caching.", None),
    ("I always get this exception.", None),
    ("It never works on Windows.", None),
    ("I would prefer not to guess.", None),
    ("I like it.", None),
    ("Why do you always use mocks?", None),
    ("We have not decided to use anything.", None),
    ("> We decided to use Oracle.", None),
    ("```\nAlways use tabs.\n```", None),
    ("I think we decided to use Redis.", None),
    ("The test fails because the port is taken.", None),
    ("What if we switched to Go?", None),
    ("He said we decided to use PHP.", None),
    ("I need you to always know that I wonder about it.", None),
    ("Use the force.", None),
    ("I want to eat.", None),
)


@pytest.mark.parametrize(("text", "kind"), STATED)
def test_only_what_is_said_outright_is_stated(text: str, kind: str | None) -> None:
    taken = (statements.PREFERENCE, statements.DECISION, statements.WARNING)
    found = [one.kind for one in statements.read_statements(text) if one.kind in taken]
    assert found == ([] if kind is None else [kind])


def test_a_file_that_is_no_text_is_of_an_unknown_format_and_one_without_a_byte_empty(alma: ALMA, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00\xff" * 100)
    (tmp_path / "b.json").write_bytes(b"")
    report = ingest_conversations([tmp_path / "a.bin", tmp_path / "b.json"], alma=alma)
    assert {Path(name).name: reason for name, reason in report.skipped.items()} == {"a.bin": "unknown format", "b.json": "empty"}


def test_an_import_says_whose_the_chats_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.md").write_text("User: We decided to use PostgreSQL.\n\nAssistant: Good choice.\n\nUser: Fine, go on.\n")
    assert CliRunner().invoke(app, ["init", "--embedder", "hash"]).exit_code == 0
    unnamed = CliRunner().invoke(app, ["ingest", "chat.md"]).output
    named = CliRunner().invoke(app, ["ingest", "chat.md", "--agent", "dev"]).output
    with ALMA.from_config(".alma/config.yaml") as memory:
        owners = {one.agent for one in memory.list_memories("domain_knowledge")}

    assert "they belong to the agent text; with --agent NAME they belong to another one" in unnamed
    assert "they belong to" not in named
    assert owners == {"text", "dev"}
