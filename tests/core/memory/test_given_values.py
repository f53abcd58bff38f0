"""Values as programs have them: ids, verdicts and names in the types of other libraries, names in any Unicode form."""

import enum
import json
import unicodedata
import uuid
from pathlib import Path

import numpy as np
import pytest

from alma import ALMA, AlmaError, ScopeViolationError, ValidationError, Verdict
from alma.testing import make_domain_knowledge, make_outcome, make_user_preference
from alma.types import Passage
from facade import OpenStore

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Zoë Ağca") for form in ("NFC", "NFD"))


class Who(enum.Enum):
    SUPPORT = "support-bot"


class Tenant(enum.IntEnum):
    FIRST = 12


class How(enum.Enum):
    WELL = "Success"
    BADLY = False


class Kind(enum.StrEnum):
    TOOL = "tool"


DIMENSION = 64
VECTOR = np.full(DIMENSION, DIMENSION**-0.5, dtype="<f2").tobytes()
USER = uuid.uuid5(uuid.NAMESPACE_DNS, "example.org")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (USER, str(USER)),
        (4711, "4711"),
        (np.int64(-3), "-3"),
        (np.str_("ann"), "ann"),
        (np.array("bob"), "bob"),
        (Who.SUPPORT, "support-bot"),
        (Tenant.FIRST, "12"),
    ],
)
def test_a_user_or_an_agent_is_named_by_any_value_that_holds_a_name(alma: ALMA, given: object, name: str) -> None:
    alma.add_user_preference(given, "tone", "Be brief")  # type: ignore[arg-type]
    outcome = alma.learn(given, "Pack the box", True, user_id=given, task_id=given)  # type: ignore[arg-type]
    assert (outcome.agent, outcome.user_id, outcome.task_id) == (name, name, name)
    assert type(outcome.agent) is str
    found = alma.retrieve("Pack the box", name, user_id=name)
    assert [len(found.preferences), len(found.outcomes)] == [1, 1]
    with alma.episode(agent=given, task="Pack the box", user_id=given, run_id=given) as episode:  # type: ignore[arg-type]
        episode.succeed()
    assert alma.users() == [name]


@pytest.mark.parametrize(
    "given", [True, 1.5, np.float64(2), np.bool_(True), np.array([1, 2]), b"ann", object(), float("nan"), ["a"]]
)
def test_a_value_without_a_name_in_it_is_refused(alma: ALMA, given: object) -> None:
    with pytest.raises(AlmaError):
        alma.learn("dev", "Pack the box", True, user_id=given)  # type: ignore[arg-type]
    assert alma.stats().total == 0


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (How.WELL, Verdict.SUCCESS),
        (How.BADLY, Verdict.FAILURE),
        (np.bool_(True), Verdict.SUCCESS),
        (np.array(False), Verdict.FAILURE),
        (np.str_("PARTIAL"), Verdict.PARTIAL),
        (Verdict.UNVERIFIED, Verdict.UNVERIFIED),
    ],
)
def test_a_verdict_is_taken_from_what_holds_it(alma: ALMA, given: object, verdict: Verdict) -> None:
    assert alma.learn("dev", "Pack", given, verdict_source=Kind.TOOL).outcome is verdict  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [1, np.int64(1), np.float32(1), Tenant.FIRST, None, np.array([True]), "succes"])
def test_a_value_that_is_no_verdict_is_refused(alma: ALMA, given: object) -> None:
    with pytest.raises(ValidationError, match="outcome"):
        alma.learn("dev", "Pack", given)  # type: ignore[arg-type]


def test_numbers_times_and_metadata_come_as_libraries_have_them(alma: ALMA) -> None:
    outcome = alma.learn(
        "dev",
        "Pack",
        True,
        duration_ms=np.float32(12.4),
        timestamp=np.datetime64("2026-03-01T10:00:00", "us"),
        metadata={"id": USER, "score": np.float32(0.5), "who": [Who.SUPPORT]},
    )
    assert outcome.duration_ms == 12
    assert outcome.timestamp.isoformat() == "2026-03-01T10:00:00+00:00"
    assert json.dumps(outcome.metadata["id"]) == f'"{USER}"'
    assert (outcome.metadata["score"], outcome.metadata["who"]) == (0.5, ["support-bot"])
    assert len(alma.retrieve("Pack", "dev", top_k=np.int32(1)).outcomes) == 1
    with pytest.raises(ValidationError, match="JSON"):
        alma.learn("dev", "Pack", True, metadata={"open": object()})
    with pytest.raises(ValidationError, match="list of ids"):
        alma.record_usage(USER, [], agent="dev")  # type: ignore[arg-type]
    assert alma.get(uuid.UUID(outcome.id)).id == outcome.id  # type: ignore[arg-type]


@pytest.mark.parametrize(("first", "second"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_a_name_is_one_owner_in_each_unicode_form(open_store: OpenStore, first: str, second: str) -> None:
    alma = open_store(agents={first: {"share_with": ["lee"]}, "kim": {"inherit_from": [second]}})
    alma.learn(first, "Sew the sail", True, "by hand", user_id=first)
    alma.add_domain_knowledge(second, "sails", "The sail is sewn twice")
    found = alma.retrieve("Sew the sail", second, user_id=second)
    assert (len(found.outcomes), len(found.domain_knowledge)) == (1, 1)
    assert alma.retrieve("Sew the sail", "lee").domain_knowledge
    assert alma.retrieve("Sew the sail", second).domain_knowledge
    assert alma.for_project(first) == alma.for_project(second)
    assert alma.forget_user(second).memory_ids
    assert alma.users() == []


def _open_old(folder: Path, **options: object) -> ALMA:
    """A store with names as they were given before names were composed."""
    alma = ALMA.open(folder, project_id="p", embedding_provider="hash", embedding_dim=DIMENSION, **options)  # type: ignore[arg-type]
    given = [
        make_outcome(id="o", agent=DECOMPOSED, project_id="p", task_description="Sew the sail"),
        make_domain_knowledge(id="k", agent=DECOMPOSED, project_id="p", fact="The sail is sewn twice"),
        make_user_preference(id="u", user_id=DECOMPOSED, project_id="p", agent=""),
    ]
    with alma.storage.project("p").write(actor="", operation="add", at=0) as write:
        for memory in given:
            write.add(memory, [Passage(text=memory.text)], {memory.text: VECTOR})
        write.put_record("some.session", "one", {"agent": DECOMPOSED, "note": DECOMPOSED}, version=0)
    return alma


def test_old_names_are_composed_by_a_call_that_can_be_tried_and_undone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with _open_old(tmp_path) as alma:
        assert not alma.retrieve("Sew the sail", DECOMPOSED, user_id=DECOMPOSED)
        assert "compose_names" in caplog.text
        head, content = alma.storage.project("p").head(), alma.content_hash()
        tried = alma.compose_names(dry_run=True)
        assert (set(tried.memory_ids), tried.records, tried.seq, tried.held) == ({"o", "k", "u"}, 1, None, {})
        assert alma.content_hash() == content
        done = alma.compose_names()
        assert done.memory_ids == tried.memory_ids
        assert done.seq == head + 1
        found = alma.retrieve("Sew the sail", DECOMPOSED, user_id=COMPOSED)
        assert {memory.id for memory in found} >= {"u"}
        assert alma.get("o", agent=COMPOSED).agent == COMPOSED
        assert alma.storage.project("p").record("some.session", ["one"])["one"] == (2, {"agent": COMPOSED, "note": DECOMPOSED})
        assert alma.verify().ok
        assert not alma.compose_names().memory_ids
        alma.undo(head)
        assert alma.content_hash() == content
        assert alma.verify().ok


@pytest.mark.parametrize("rules", [{COMPOSED: {"share_with": ["*"]}}, {"lee": {"inherit_from": [DECOMPOSED]}}])
def test_composing_names_opens_no_memory_to_another_agent(tmp_path: Path, rules: dict[str, dict[str, list[str]]]) -> None:
    with _open_old(tmp_path, agents=rules) as alma:
        report = alma.compose_names()
        assert report.memory_ids == ("u",)
        assert list(report.held) == [DECOMPOSED]
        assert not alma.retrieve("Sew the sail", "lee")
    with ALMA.open(tmp_path, project_id="p") as alma:
        assert set(alma.compose_names().memory_ids) == {"o", "k"}


def test_a_user_is_forgotten_under_a_name_of_an_old_form(tmp_path: Path) -> None:
    with _open_old(tmp_path) as alma:
        assert alma.forget_user(COMPOSED).memory_ids == ("u",)
        assert alma.users() == []


def test_an_export_with_names_of_an_old_form_is_imported_under_the_composed_ones(tmp_path: Path) -> None:
    with _open_old(tmp_path / "old") as alma:
        alma.export(tmp_path / "old.jsonl")
    with ALMA.open(tmp_path / "new", project_id="p", embedding_provider="hash") as alma:
        alma.import_from(tmp_path / "old.jsonl")
        assert alma.users() == [COMPOSED]
        assert alma.get("k", agent=COMPOSED).agent == COMPOSED
        assert alma.verify().ok


def test_a_missing_agent_is_still_an_error(alma: ALMA) -> None:
    for missing in (None, "", "  ", np.str_("")):
        with pytest.raises(ScopeViolationError):
            alma.learn(missing, "Pack", True)  # type: ignore[arg-type]
