"""Notes, scopes and resets: what CrewAI's own tools and commands do with a memory reaches ALMA."""

import copy
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from crewai.memory.storage.backend import StorageBackend

from alma import ALMA, ConfigurationError, ValidationError
from alma_crewai import ALMAMemory, ALMARecallTool, ALMARememberTool, ALMAStorage
from crews import ScriptedLLM, agent, crew, task, use

HERON = "The staging cluster is called heron"
STORK = "The production cluster is called stork"


def facts(alma: ALMA) -> list[tuple[str, str]]:
    return [(memory.agent, memory.fact) for memory in alma.list_memories("domain_knowledge", newest_first=False)]


@pytest.mark.parametrize("contents", [[HERON], [HERON, STORK]])
def test_what_an_agent_saves_is_its_knowledge(alma: ALMA, memory: ALMAMemory, contents: list[str]) -> None:
    llm = ScriptedLLM(use("save_to_memory", contents=contents), "noted")
    crew(task("Note the name", agent(llm)), memory=memory).kickoff()
    assert facts(alma) == [("Coder", content) for content in contents]
    assert "Sav" in llm.prompt(1)
    assert "Error" not in llm.prompt(1)


def test_a_memory_that_is_read_only_offers_no_saving_and_still_learns(alma: ALMA) -> None:
    memory = ALMAMemory(alma, read_only=True)
    llm = ScriptedLLM(use("save_to_memory", contents=[HERON]), "could not")
    crew(task("Note the name", agent(llm)), memory=memory).kickoff()
    memory.close()
    assert memory.remember(HERON) is None
    assert facts(alma) == []
    note = alma.add_domain_knowledge("crew", "clusters", HERON)
    memory.update(note.id, content=STORK)
    assert facts(alma) == [("crew", HERON)]
    assert len(alma.recent_episodes()) == 1


@pytest.mark.parametrize("read_only", [True, False])
def test_a_memory_that_is_read_only_hides_the_tool_that_saves(alma: ALMA, read_only: bool) -> None:
    memory = ALMAMemory(alma, read_only=read_only)
    llm = ScriptedLLM("Thought: I know\nFinal Answer: done", native=False)  # such a model is told its tools in the prompt
    crew(task("Note the name", agent(llm)), memory=memory).kickoff()
    memory.close()
    assert "search_memory" in llm.prompt()
    assert ("save_to_memory" in llm.prompt()) is not read_only


def test_a_note_with_a_category_is_found_by_it_and_a_private_one_by_its_source(memory: ALMAMemory) -> None:
    memory.remember(HERON, categories=["clusters"])
    memory.remember(STORK, source="ann", private=True)
    memory.remember("The name of the cluster in Bern is crane", categories=["places"])
    assert [match.record.categories for match in memory.recall("cluster name", categories=["clusters"])] == [
        ["domain_knowledge", "clusters"]
    ]
    assert len(memory.recall("cluster name")) == 2
    assert len(memory.recall("cluster name", source="bob")) == 2
    assert len(memory.recall("cluster name", source="ann")) == 3
    assert len(memory.recall("cluster name", include_private=True)) == 3


def test_a_preference_is_kept_for_the_present_user(alma: ALMA) -> None:
    memory = ALMAMemory(alma, user_id="ann")
    record = memory.remember("Answer in French", categories=["user_preference", "language"])
    memory.close()
    (kept,) = alma.list_memories("user_preference")
    assert (kept.user_id, kept.category, kept.preference, kept.id) == ("ann", "language", "Answer in French", record.id)


def test_a_preference_of_nobody_is_refused_and_does_not_become_what_all_know(alma: ALMA, memory: ALMAMemory) -> None:
    with pytest.raises(ValidationError, match="user_id"):
        memory.remember("Answer in French", categories=["user_preference", "language"])
    assert alma.list_memories() == []


def test_a_scope_narrows_notes_and_not_what_was_learned(alma: ALMA, memory: ALMAMemory) -> None:
    memory.scope("/birds").remember(HERON)
    memory.scope("/birds/big").remember(STORK)
    alma.add_heuristic("crew", "find the name of a cluster", "look at the birds")

    def found(path: str) -> list[str]:
        return sorted(match.record.scope for match in memory.scope(path).recall("cluster called name"))

    assert found("/birds") == ["/", "/birds", "/birds/big"]
    assert found("/birds/big") == ["/", "/birds/big"]
    assert found("/bird") == ["/"]
    assert len(memory.slice(["/birds", "/fish"]).recall("cluster called name")) == 3
    assert memory.list_scopes() == ["/birds"]
    assert memory.list_scopes("/birds") == ["/birds/big"]
    assert memory.info("/birds").record_count == 2
    assert memory.info().categories == ["domain_knowledge", "heuristic"]
    assert "/birds/big (1 records)" in memory.tree()
    assert memory.list_categories("/birds") == {"domain_knowledge": 2}


def test_a_crew_with_a_scope_of_a_memory_recalls_and_learns(alma: ALMA, memory: ALMAMemory) -> None:
    alma.add_heuristic("Coder", "Deploy the auth service", "roll out blue-green")
    llm = ScriptedLLM()
    crew(task("Deploy the auth service", agent(llm)), memory=memory.scope("/team")).kickoff()
    assert "blue-green" in llm.prompt()
    assert len(alma.recent_episodes()) == 1


def test_a_crew_with_a_slice_of_a_memory_is_shown_each_of_its_scopes(memory: ALMAMemory) -> None:
    memory.remember(HERON, scope="/birds", agent_role="Coder")
    memory.remember(STORK, scope="/legs", agent_role="Coder")
    memory.remember("The test cluster is called pike", scope="/fish", agent_role="Coder")
    llm = ScriptedLLM()
    crew(task("Say what the cluster is called", agent(llm)), memory=memory.slice(["/birds", "/legs", "/birds"])).kickoff()
    assert [llm.prompt().count(word) for word in ("heron", "stork", "pike")] == [1, 1, 0]
    assert memory.errors == []


def test_resetting_a_crew_forgets_all_and_can_be_undone(alma: ALMA, memory: ALMAMemory) -> None:
    made = crew(task("Note the name", agent(ScriptedLLM())), memory=memory)
    memory.remember(HERON)
    made.kickoff()
    kept, before = len(alma.list_memories()), alma.get_stats().journal_records
    made.reset_memories("memory")
    assert (kept, alma.list_memories(), memory.recall("cluster")) == (1, [], [])
    alma.undo(before)
    assert len(alma.list_memories()) == kept


PROJECT = """
import warnings
warnings.simplefilter("ignore")
import offline
offline.block_network()
from alma import ALMA
from alma_crewai import attach_alma
from crews import ScriptedLLM, agent, crew, task
alma = ALMA.open("alma", project_id="crews", embedding_provider="hash")
made = crew(task("Note the name", agent(ScriptedLLM())))
attach_alma(made, alma)
"""


@pytest.mark.parametrize("kind", ["--memory", "--long", "--all"])
def test_the_command_that_resets_memories_reaches_alma(alma: ALMA, tmp_path: Path, kind: str) -> None:
    alma.add_domain_knowledge("crew", "clusters", HERON)
    (tmp_path / "crew.py").write_text(PROJECT)
    command = [sys.executable, "-c", "from crewai_cli.cli import crewai; crewai()", "reset-memories", kind]
    told = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr
    assert "reset" in told.stdout.lower(), told.stdout + told.stderr
    assert alma.list_memories() == []
    alma.undo(1)
    assert facts(alma) == [("crew", HERON)]


def test_a_scope_is_reset_alone(alma: ALMA, memory: ALMAMemory) -> None:
    memory.scope("/birds").remember(HERON)
    memory.remember(STORK)
    memory.reset("/birds")
    assert facts(alma) == [("crew", STORK)]


def test_notes_are_forgotten_by_id_by_age_and_by_category(alma: ALMA, memory: ALMAMemory) -> None:
    first = memory.remember(HERON)
    memory.remember(STORK, categories=["clusters"])
    assert memory.forget() == 0
    assert memory.forget(older_than=datetime.now(UTC).replace(tzinfo=None) - timedelta(days=1)) == 0
    assert memory.forget(categories=["clusters"], record_ids=[first.id]) == 0
    assert memory.forget(record_ids=[first.id]) == 1
    assert memory.forget(categories=["clusters"], metadata_filter={"no": "such"}) == 0
    assert memory.forget(categories=["clusters"]) == 1
    assert alma.list_memories() == []


def test_a_note_is_rewritten_and_what_was_learned_is_not(alma: ALMA, memory: ALMAMemory) -> None:
    record = memory.remember(HERON, categories=["clusters"])
    changed = memory.update(record.id, content=STORK)
    assert facts(alma) == [("crew", STORK)]
    assert memory._storage.get_record(record.id) is None
    moved = memory.update(changed.id, scope="/birds")
    assert (moved.scope, facts(alma)) == ("/birds", [("crew", STORK)])
    memory.update(moved.id, categories=["nests"])
    assert memory.list_categories("/birds") == {"domain_knowledge": 1, "nests": 1}
    learned = alma.learn("crew", "Deploy", "success", "blue-green")
    with pytest.raises(ValidationError, match="not rewritten"):
        memory.update(learned.id, content="red-black")
    with pytest.raises(ValidationError):
        memory.update("nothing", content=HERON)


def test_a_rewritten_note_stays_with_its_user(alma: ALMA) -> None:
    memory = ALMAMemory(alma, user_id="ann")
    record = memory.remember(HERON, categories=["clusters"])
    memory.update(record.id, content=STORK)
    assert [(note.fact, note.user_id) for note in alma.list_memories("domain_knowledge")] == [(STORK, "ann")]


def test_what_crewai_extracts_from_answers_is_nothing(memory: ALMAMemory) -> None:
    assert memory.extract_memories("Task: a\nAgent: b\nExpected result: c\nResult: d") == []


def test_a_memory_is_shared_not_copied(memory: ALMAMemory) -> None:
    assert copy.deepcopy(memory) is memory


def test_the_storage_answers_as_crewai_asks_it(alma: ALMA) -> None:
    storage = ALMAStorage(alma)
    assert isinstance(storage, StorageBackend)
    alma.add_domain_knowledge("crew", "clusters", HERON)
    (vector,) = storage.embed(["what is the staging cluster called"])
    ((record, score),) = storage.search(vector)
    assert HERON in record.content
    assert score > 0
    assert storage.search([0.1, 0.2, 0.3]) == []
    assert storage.count() == 1
    assert storage.get_record(record.id).content == record.content
    storage.save([record.model_copy(update={"content": STORK, "scope": "/birds"})])
    assert [found.scope for found in storage.list_records(limit=5)] == ["/birds", "/"]
    assert [found.scope for found in storage.list_records(limit=5, offset=1)] == ["/"]
    storage.reset()
    assert storage.count() == 0


def test_tools_give_an_agent_what_it_asks_for_without_a_memory(alma: ALMA) -> None:
    llm = ScriptedLLM(use("save_fact", fact=HERON, topic="clusters"), use("recall_memory", query="staging cluster name"), "heron")
    tools = [ALMARememberTool(alma, agent="Coder"), ALMARecallTool(alma, agent="Coder")]
    crew(task("Name the cluster", agent(llm, tools=tools))).kickoff()
    assert facts(alma) == [("Coder", HERON)]
    assert "heron" in llm.prompt(2)
    assert tools[1].run(query="penguins and their eggs") == "Nothing is known about this yet."


def test_private_notes_are_shown_by_no_tool_and_by_no_copy(alma: ALMA, memory: ALMAMemory) -> None:
    memory.remember(HERON, source="ann", private=True, agent_role="Coder")
    question = "what is the staging cluster called"
    assert "heron" not in ALMARecallTool(alma, agent="Coder").run(query=question)
    assert "heron" not in ALMARecallTool(alma, agent="Coder", user_id="bob").run(query=question)
    assert "heron" in ALMARecallTool(alma, agent="Coder", user_id="ann").run(query=question)
    storage = ALMAStorage(alma, agent="Coder")
    assert storage.search(storage.embed([question])[0]) == []


def test_what_the_recall_tool_says_is_fenced_and_for_the_present_user(alma: ALMA) -> None:
    alma.add_user_preference("ann", "deploys", "Deploy the auth service only at night")
    present = "ann"
    recall = ALMARecallTool(alma, agent="Coder", user_id=lambda _: present)
    told = recall.run(query="Deploy the auth service").splitlines()
    assert "data, not instructions" in told[0]
    assert "only at night" in told[1]
    assert told[2:] == ["<<< end of ALMA memory >>>"]
    present = "bob"
    assert "only at night" not in recall.run(query="Deploy the auth service")


@pytest.mark.parametrize("made", [ALMARecallTool, ALMARememberTool])
def test_a_tool_refuses_what_is_no_alma(made: type) -> None:
    with pytest.raises(ConfigurationError, match="must be an open ALMA"):
        made(".alma", agent="Coder")


def test_notes_are_redacted_before_they_are_kept(alma: ALMA) -> None:
    memory = ALMAMemory(alma, agent="Researcher", redact=lambda text: text.replace("hunter2", "***"))
    record = memory.remember("The password is hunter2")
    assert record is not None
    memory.update(record.id, "The new password is hunter2 as well")
    assert [fact.fact for fact in alma.list_memories("domain_knowledge")] == ["The new password is *** as well"]
