"""Where a memory comes from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA, MemoryNotFoundError
from alma.types.kinds import VerdictSource
from facade import StoredIn


@pytest.fixture
def alma(tmp_path: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        yield alma


def test_a_fact_says_its_source_session_and_document(alma: ALMA) -> None:
    fact = alma.add_domain_knowledge(
        "dev", "ops", "The window is 30 minutes", metadata={"document": "runbook.pdf", "session_id": "chat-3", "tool": "reader"}
    )

    found = alma.provenance(fact.id)

    assert (found.source, found.session_id, found.tool, found.document) == ("user_stated", "chat-3", "reader", "runbook.pdf")
    assert found.lines()[0].startswith("recorded by dev on ")
    assert found.lines()[1:] == ["stated by a user or a program", "session chat-3", "tool reader", "document runbook.pdf"]


@pytest.mark.parametrize("source", list(VerdictSource))
def test_an_outcome_says_who_judged_it(alma: ALMA, source: VerdictSource) -> None:
    outcome = alma.learn("dev", "Deploy", "success", verdict_source=source)

    found = alma.provenance(outcome.id)

    assert found.verdict_source is source
    assert str(found).startswith("judged by ")


def test_an_outcome_of_an_episode_says_the_attempt_its_run_session_and_tool(alma: ALMA) -> None:
    with alma.episode("dev", "Deploy the mail service", run_id="run-1", thread_id="chat-7") as episode:
        episode.step("kubectl apply", ok=False, error="ImagePullBackOff", tool="kubectl")
        episode.succeed(strategy="blue-green", source="tool")
    step, whole = sorted(
        map(alma.provenance, (memory.id for memory in alma.list_memories("outcome"))), key=lambda one: not one.step
    )

    assert (step.episode_id, step.step, step.tool, step.run_id, step.session_id) == (episode.id, 1, "kubectl", "run-1", "chat-7")
    assert (whole.episode_id, whole.step, whole.verdict_source) == (episode.id, None, VerdictSource.TOOL)
    assert f"episode {episode.id}, step 1 of run run-1" in step.lines()


def test_a_learned_rule_says_who_judged_what_it_was_learned_from(alma: ALMA) -> None:
    for service, source in (("auth", "tool"), ("mail", "tool"), ("search", "agent")):
        alma.learn("dev", f"Deploy the {service} service", "success", "blue-green", task_type="deploy", verdict_source=source)
    (rule,) = alma.retrieve("Deploy", "dev", task_type="deploy").heuristics
    stated = alma.add_heuristic("dev", "Deploy", "roll out slowly")

    found = alma.provenance(rule.id)

    assert found.learned_from == {VerdictSource.TOOL: 2, VerdictSource.AGENT: 1}
    assert found.lines()[1] == (
        "learned from outcomes: 2 judged by a tool (exit status, exception or test), 1 judged by the agent itself alone"
    )
    assert alma.provenance(stated.id).lines()[1:] == ["stated, not learned"]


def test_an_explanation_says_it_too_and_nobody_learns_it_who_may_not_see_the_memory(alma: ALMA) -> None:
    talk = alma.add_conversation([("user", "The window is 30 minutes")], agent="dev", session_id="chat-9")

    told = alma.retrieve("How long is the window?", "dev", explain=True).recalled[0].explanation

    assert told is not None
    assert told.provenance is not None
    assert told.provenance.session_id == "chat-9"
    assert "where from: session chat-9" in told.lines()
    with pytest.raises(MemoryNotFoundError):
        alma.provenance(talk.id, agent="stranger")


def test_stored_text_stays_on_its_line_and_odd_metadata_is_ignored(alma: ALMA) -> None:
    odd = {"document": "a\nb" * 500, "tool": ["x"], "session_id": 7, "episode_id": "gone", "step": True}
    fact = alma.add_domain_knowledge("dev", "ops", "The window is 30 minutes", source="wiki", metadata=odd)

    found = alma.provenance(fact.id)

    assert (found.tool, found.session_id, found.step, found.run_id) == (None, None, None, None)
    assert all("\n" not in line and len(line) <= 300 for line in found.lines())
    assert found.lines()[1:3] == ["source wiki", "episode gone"]
