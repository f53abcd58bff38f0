"""Ways that were tried, in the notes of a run, in documents and in tools: cited, counted and left out as memories are."""

from alma import ALMA, MemoryType
from alma.types.strategies import TRIED
from alma_integration import Integration, Options, documented, way_metadata
from alma_integration.toolkit import Toolkit

TASK = "Deploy the auth service"
WAY, OTHER = "blue-green", "rolling update"


def tried(alma: ALMA) -> str:
    """The id of the newest outcome of a way that worked once."""
    return alma.learn("dev", TASK, "success", WAY).id


def test_a_way_that_is_cited_counts_for_the_newest_outcome_behind_it(alma: ALMA) -> None:
    newest = tried(alma)
    run = Integration(alma, agent="dev", options=Options(evaluator=lambda view: True)).run(TASK)
    assert f"[S1] {WAY}: worked 1 of 1" in run.recall()

    run.model_said("As [S1] says.")
    run.end("It is live.")

    assert run.report is not None
    assert (run.report.retrieved, run.report.cited) == (1, ("S1",))
    assert [(shown.memory_id, shown.used) for shown in run.report.episodes[0].shown] == [(newest, True)]


def test_an_answer_for_a_user_has_no_citation_of_a_way(alma: ALMA) -> None:
    tried(alma)
    run = Integration(alma, agent="dev", options=Options(strip_tags=True)).run(TASK)
    run.recall()
    assert run.for_user("It is live [S1].") == "It is live."


def test_ways_stay_among_outcomes_and_only_where_no_memory_is_asked_for_by_itself(alma: ALMA) -> None:
    tried(alma)
    integration = Integration(alma, agent="dev")
    run = integration.run(TASK)

    def strategies(**asked: object) -> list[str]:
        return [way.strategy for way in integration.retrieve(TASK, "dev", run.context, **asked).strategies]  # type: ignore[arg-type]

    assert strategies() == strategies(kinds=[MemoryType.OUTCOME]) == [WAY]
    assert strategies(kinds=[MemoryType.DOMAIN_KNOWLEDGE]) == strategies(wanted=lambda item: True) == []


def test_ways_of_a_lower_score_than_is_wanted_are_left_out(alma: ALMA) -> None:
    tried(alma)
    alma.learn("dev", TASK, "failure", OTHER)
    works, fails = alma.retrieve(TASK, "dev").strategies

    def strategies(min_score: float) -> list[str]:
        integration = Integration(alma, agent="dev", options=Options(min_score=min_score))
        return [way.strategy for way in integration.retrieve(TASK, "dev", integration.run(TASK).context).strategies]

    assert fails.expected < works.expected
    assert strategies(fails.expected) == [WAY, OTHER]
    assert strategies(works.expected) == [WAY]
    assert strategies(1.0) == []


def test_a_rule_has_the_tag_of_its_row_after_other_rules_were_left_out(alma: ALMA) -> None:
    for way in (WAY, OTHER):
        for _ in range(3):
            alma.learn("dev", TASK, "success", way)
    integration = Integration(alma, agent="dev")
    found = integration.retrieve(TASK, "dev", integration.run(TASK).context, wanted=lambda item: item.memory.text.endswith(OTHER))

    assert [(way.tag, way.strategy) for way in found.strategies] == [("H1", OTHER)]
    assert [(item.tag, item.memory.id) for item in found.recalled] == [("H1", found.strategies[0].id)]
    assert f"[H1] {OTHER}: worked 3 of 3 times" in found.to_prompt()


def test_documents_have_ways_only_where_nothing_else_is_known(alma: ALMA) -> None:
    tried(alma)
    found = alma.retrieve(TASK, "dev")
    alone = found.model_copy(update={"recalled": ()})

    assert documented(found).strategies == ()
    (way,) = documented(alone).strategies
    assert (way.rule, way.line(None)) == (TRIED, f"{WAY}: worked 1 of 1")
    kept = way_metadata(way)
    assert (kept["memory_type"], kept["tag"], kept["agent"]) == ("strategy", "S1", "dev")
    assert (kept["fields"]["successes"], kept["fields"]["trials"]) == (1, 1)


def test_a_tool_recalls_the_lines_of_ways_and_the_ids_of_saved_facts(alma: ALMA) -> None:
    tried(alma)
    kit = Toolkit(alma, agent="dev")
    kit.save_fact("deploying", f"{TASK} before noon")
    (fact,) = alma.list_memories("domain_knowledge")

    lines = kit.recall(TASK).splitlines()
    assert lines[1].startswith(f"- {WAY}: worked 1 of 1 (last ")
    assert [fact.id in line for line in lines] == [False, False, True, False]
