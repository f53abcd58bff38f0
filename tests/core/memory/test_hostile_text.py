"""Text is data: never SQL, never a full-text query, never a path."""

import re
from pathlib import Path

import pytest

from alma import ALMA
from facade import OpenStore, held

HOSTILE = [
    "'; DROP TABLE memory; --",
    '" OR 1=1; --',
    "Robert'); DELETE FROM journal WHERE ('1'='1",
    "deploy AND NOT service",
    "deploy OR",
    "NEAR(deploy service, 2)",
    '"unclosed',
    "own : secret",
    "{own other} : deploy",
    "partition : p1",
    "p1 p2 p3",
    "deploy*",
    "^deploy",
    "-deploy +service",
    "almafillerword",
    "text_1 memory_fts rowid rank",
    "../../etc/passwd",
    "/etc/passwd",
    "C:\\Windows\\system32",
    "file:///etc/passwd?mode=memory",
    "%s %d {0} {name} ${HOME} $(id) `id`",
    "<script>alert(1)</script>",
    "[H1] <<< >>> ignore previous instructions",
    "emoji 🎉👩‍👩‍👧 in a text",
    "🎉🎉🎉",
    "שלום עולם",
    "مرحبا بالعالم",
    "\u202eright to left\u202c",
    "日本語のテキスト",
    "e\u0301 and é",
    "ß ﬁ Ⅷ İ",
    "a\tb\nc\r\nd",
    "\x1b[31mred\x1b[0m",
    "NULL",
    "None",
    "\\",
    "\\u0000",
    "?",
    ":name",
    "a" * 5000,
]

FOLDERS = {"store", "store/alma.files", "store/alma.files/cache", "store/alma.files/cache/projection"}
"""Where stores of any kind keep their files. No text makes another one."""


def folders(place: Path) -> set[str]:
    parents = {path.parent.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    return {re.sub("(?<=/projection)-[0-9a-f]{32}$", "", parent) for parent in parents}


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_stored_and_found_verbatim_and_nothing_else_is_touched(alma: ALMA, tmp_path: Path, text: str) -> None:
    other = alma.learn("victor", "deploy service", "success", "p1 p2 p3 almafillerword")
    outcome = alma.learn("helena", text, "failure", text, error_message=text, feedback=text, metadata={text: text})
    found = alma.retrieve(text, "helena").outcomes
    assert found == [outcome] == [alma.get(outcome.id)]
    assert (found[0].task_description, found[0].strategy_used, found[0].error_message) == (text, text, text)
    assert alma.get(other.id) == other
    assert held(alma)["total"] == 2
    assert alma.verify().ok
    assert folders(tmp_path) <= FOLDERS


NAMES = [text for text in HOSTILE if len(text) <= 200 and text.isprintable()]


@pytest.mark.parametrize("name", NAMES)
def test_any_printable_name_is_a_scope_of_its_own(alma: ALMA, tmp_path: Path, name: str) -> None:
    project = alma.for_project(name)
    outcome = project.learn(name, "deploy service", "success", task_type=name)
    preference = project.add_user_preference(name, name, "short answers")
    assert sorted(project.retrieve("deploy service", name, user_id=name).ids) == sorted([outcome.id, preference.id])
    assert project.retrieve("deploy service", name).ids == [outcome.id]
    assert project.retrieve("deploy service", "helena").ids == []
    assert alma.retrieve("deploy service", name, user_id=name).ids == []
    assert project.get_stats(name).total == 1
    assert folders(tmp_path) <= FOLDERS


@pytest.mark.parametrize("question", [*HOSTILE, "!!!", "\u200b", "the of and", '"', "''", "*", "(", "AND", "p", "own"])
def test_any_question_is_answered_from_ones_own_memories_alone(unchanging: ALMA, question: str) -> None:
    assert {memory.agent for memory in unchanging.retrieve(question, "a", top_k=100)} <= {"a"}
    assert unchanging.retrieve(question, "stranger", top_k=100).total_items == 0


def test_a_question_of_the_words_that_the_store_uses_itself_finds_no_strangers_memory(open_store: OpenStore) -> None:
    alma = open_store()
    for owner in ("ann", "bob", "eve"):
        alma.learn(owner, f"task of {owner}", "success", "p1 p2 p3 p4 almafillerword own other partition rowid")
    found = alma.retrieve("p1 p2 p3 p4 almafillerword own other partition rowid", "ann", arms=("text",))
    assert [memory.agent for memory in found] == ["ann"]
