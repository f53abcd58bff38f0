"""A rule is no stored memory, but its id is good for everything that an id of a memory is good for, in every open of the store."""

import json
from collections.abc import Callable, Iterator

import pytest

from alma import ALMA, MemoryNotFoundError
from alma.types import Heuristic
from alma.types.strategies import RULE
from facade import OpenStore, Place, exported
from learned import anti_patterns, heuristics
from other_process import OtherProcess

TASK = "Deploy the auth service"

Use = Callable[[ALMA, str], object]


def learn(alma: ALMA, outcome: str = "success", way: str = "blue-green", times: int = 3, **more: str) -> list[str]:
    return [alma.learn("dev", TASK, outcome, way, **more).id for _ in range(times)]


@pytest.fixture
def rule(alma: ALMA) -> Heuristic:
    learn(alma)
    (made,) = heuristics(alma)
    return made


@pytest.fixture
def other(alma: ALMA, rule: Heuristic, open_store: OpenStore) -> ALMA:
    """The same store, opened once more after the rule came about."""
    return open_store()


def test_two_opens_agree_on_ids_and_counts_whoever_learned_last(alma: ALMA, open_store: OpenStore) -> None:
    other = open_store()
    for turn in range(6):
        learn((alma, other)[turn % 2], times=1)
        learn((other, alma)[turn % 2], "failure", "by ftp", times=1, error_message="refused")
        assert heuristics(alma) == heuristics(other)
        assert anti_patterns(alma) == anti_patterns(other)
        assert alma.strategies(TASK, "dev") == other.strategies(TASK, "dev")
    assert (len(heuristics(alma)), len(anti_patterns(alma))) == (1, 1)


def test_another_process_agrees_on_ids_and_counts(place: Place) -> None:
    setup = f"from alma import ALMA\nalma = {place.opening}\n"
    with place.open() as alma, OtherProcess(setup) as process:
        ids = "[(m.id, m.success_count, m.occurrence_count) for m in alma.list_memories('heuristic')]"
        for number in range(1, 5):
            learn(alma, times=1)
            process.ask(f"alma.learn('dev', {TASK!r}, 'success', 'blue-green') and None")
            here = [(rule.id, rule.success_count, rule.occurrence_count) for rule in heuristics(alma)]
            assert process.ask(ids) == repr(here)
            assert [rule.success_count for rule in heuristics(alma)] == ([] if number == 1 else [2 * number])
        (rule,) = heuristics(alma)
        process.ask(f"alma.record_usage([{rule.id!r}], [{rule.id!r}], agent='dev') and None")
        assert process.ask(f"alma.get({rule.id!r}).strategy") == repr("blue-green")
        assert process.ask(f"len(alma.outcomes_behind({rule.id!r}))") == "8"
        assert process.ask(f"'Selected because' in str(alma.explain_retrieval({TASK!r}, {rule.id!r}, agent='dev'))") == "True"
        process.ask(f"alma.record_feedback({rule.id!r}, signal='thumbs_up', agent='dev') and None")
        process.ask(f"alma.forget(memory_ids=[{rule.id!r}]) and None")
        assert heuristics(alma) == []


@pytest.fixture(params=["here", "in a second open"])
def reader(request: pytest.FixtureRequest, alma: ALMA, other: ALMA) -> ALMA:
    return alma if request.param == "here" else other


def test_a_rule_is_got_by_its_id(reader: ALMA, rule: Heuristic) -> None:
    assert reader.get(rule.id) == rule
    assert reader.get(rule.id, agent="dev") == rule
    with pytest.raises(MemoryNotFoundError):
        reader.get(rule.id, agent="eve")


def test_the_outcomes_behind_a_rule_are_those_of_its_way_newest_first(reader: ALMA, rule: Heuristic) -> None:
    more = learn(reader, times=1)
    learn(reader, "failure", "by ftp", times=1)

    behind = [one.id for one in reader.outcomes_behind(rule.id)]

    assert behind[0] == more[0]
    assert len(behind) == 4
    assert {one.strategy_used for one in reader.outcomes_behind(rule.id)} == {"blue-green"}


def test_a_rule_explains_why_it_is_selected_and_why_not(reader: ALMA, rule: Heuristic) -> None:
    shown = reader.explain_retrieval(TASK, rule.id, agent="dev")
    hidden = reader.explain_retrieval(TASK, rule.id, agent="eve")

    assert str(shown).startswith("Selected because: similarity=")
    assert str(hidden).startswith("Not selected because: ")


def scores(alma: ALMA) -> dict[str, float]:
    return {item.memory.id: item.score for item in alma.retrieve(TASK, "dev").recalled}


@pytest.mark.parametrize(
    "use",
    [
        lambda alma, rule_id: alma.record_usage([rule_id], [], agent="dev"),
        lambda alma, rule_id: alma.record_feedback(rule_id, signal="thumbs_down", agent="dev"),
    ],
    ids=["ignored", "rated down"],
)
def test_what_is_recorded_of_a_rule_moves_its_score_in_every_open(alma: ALMA, other: ALMA, rule: Heuristic, use: Use) -> None:
    before = scores(alma)[rule.id]

    for _ in range(4):
        use(other, rule.id)

    assert scores(alma)[rule.id] == scores(other)[rule.id] < before


def test_a_rule_that_was_used_is_unknown_to_no_one(reader: ALMA, rule: Heuristic) -> None:
    assert not reader.record_usage([rule.id], [rule.id], agent="dev").unknown
    assert not reader.record_feedback(rule.id, signal="thumbs_up", agent="dev").unknown
    assert reader.record_usage(["nothing"], [], agent="dev").unknown == ("nothing",)


def shown_rule(alma: ALMA) -> str:
    """Shows the only rule, and returns its id."""
    (rule,) = alma.retrieve(TASK, "dev").heuristics
    return rule.id


def use_of(alma: ALMA, rule_id: str) -> dict[str, float]:
    """Returns what was recorded of the use of a rule, as an export states it."""
    lines = [json.loads(line) for line in exported(alma).splitlines()]
    found = [line["body"] for line in lines if line.get("kind") == RULE and line["key"] == rule_id]
    return dict(found[0].get("use", {})) if found else {}


@pytest.mark.parametrize("is_recorded", [False, True], ids=["new", "used before"])
@pytest.mark.parametrize(
    "take_away",
    [
        lambda alma, rule_id, outcomes: alma.forget(memory_ids=[rule_id]),
        lambda alma, rule_id, outcomes: alma.undo(0),
        lambda alma, rule_id, outcomes: alma.purge(outcomes),
        lambda alma, rule_id, outcomes: alma.purge(outcomes[1:]),
    ],
    ids=["forgotten", "undone", "purged", "purged but one"],
)
def test_the_use_of_a_rule_that_was_shown_and_is_gone_is_not_counted(
    alma: ALMA, open_store: OpenStore, take_away: Callable[[ALMA, str, list[str]], object], is_recorded: bool
) -> None:
    outcomes, other = learn(alma), open_store()
    rule_id = shown_rule(alma)
    if is_recorded:
        other.record_usage([rule_id], [rule_id], agent="dev")
    take_away(other, rule_id, outcomes)
    before = use_of(alma, rule_id)

    assert alma.record_usage([rule_id], [rule_id], agent="dev").unknown == (rule_id,)
    assert alma.record_feedback(rule_id, signal="thumbs_up", agent="dev").unknown == (rule_id,)
    assert use_of(alma, rule_id) == before
    assert alma.verify().problems == ()


def test_an_episode_whose_shown_rule_is_gone_at_its_end_credits_it_nothing(alma: ALMA, open_store: OpenStore) -> None:
    learn(alma)
    with alma.episode("dev", TASK) as episode:
        rule_id = shown_rule(alma)
        open_store().forget(memory_ids=[rule_id])
        episode.used([rule_id])
        episode.succeed(strategy="blue-green")
    assert alma.get_episode(episode.id).credited == ()
    assert use_of(alma, rule_id) == {}


def test_uses_of_a_rule_add_up_whoever_was_shown_it_when(alma: ALMA, open_store: OpenStore) -> None:
    learn(alma)
    other = open_store()
    rule_id = shown_rule(alma)
    assert shown_rule(other) == rule_id
    for each in (alma, other, other, alma):
        each.record_usage([rule_id], [rule_id], agent="dev")
        learn(each, times=1)
    assert use_of(alma, rule_id) == use_of(other, rule_id) == {"used": 4}
    assert [rule.id for rule in heuristics(alma)] == [rule_id]


def test_a_rule_that_came_about_elsewhere_is_known_to_one_who_was_shown_others(alma: ALMA, open_store: OpenStore) -> None:
    learn(alma)
    first, other = shown_rule(alma), open_store()
    for _ in range(3):
        other.learn("dev", "Feed the animals", "success", "call the keeper")
    (second,) = other.retrieve("Feed the animals", "dev").heuristics

    assert alma.record_usage([first, second.id], [second.id], agent="dev").used == (second.id,)
    assert (use_of(alma, first), use_of(alma, second.id)) == ({"ignored": 1}, {"used": 1})


def test_a_rule_that_was_used_has_the_same_id_and_counts_when_more_is_learned(reader: ALMA, rule: Heuristic) -> None:
    reader.record_usage([rule.id], [rule.id], agent="dev")
    learn(reader, times=2)

    assert [(one.id, one.success_count) for one in heuristics(reader)] == [(rule.id, 5)]


def test_a_rule_that_is_forgotten_is_gone_everywhere_and_its_outcomes_are_not(alma: ALMA, other: ALMA, rule: Heuristic) -> None:
    report = other.forget(memory_ids=[rule.id])

    assert report.memory_ids == (rule.id,)
    for each in (alma, other):
        assert heuristics(each) == []
        assert each.retrieve(TASK, "dev").heuristics == []
        assert [(row.successes, row.trials, row.rule) for row in each.strategies(TASK, "dev")] == [(3, 3, "tried")]
        assert len(each.list_memories("outcome")) == 3


@pytest.fixture
def way(alma: ALMA) -> Iterator[tuple[ALMA, list[str]]]:
    """A way that is no rule yet, and the outcomes behind it, oldest first."""
    return alma, learn(alma, times=2)  # type: ignore[return-value]


def test_a_way_that_is_no_rule_yet_stands_for_its_newest_outcome(way: tuple[ALMA, list[str]]) -> None:
    alma, outcomes = way
    found = alma.retrieve(TASK, "dev")

    assert [(row.tag, row.id) for row in found.strategies] == [("S1", outcomes[-1])]
    assert "[S1] blue-green: worked 2 of 2" in found.to_prompt()
    assert found.cited("I did as [S1] says") == [outcomes[-1]]
    assert not alma.record_usage([outcomes[-1]], [outcomes[-1]], agent="dev").unknown


def test_citing_a_way_in_an_episode_counts_as_using_its_newest_outcome(way: tuple[ALMA, list[str]]) -> None:
    alma, outcomes = way

    with alma.episode("dev", TASK) as episode:
        assert episode.observe("As [S1] says.") == [outcomes[-1]]
        episode.succeed(strategy="blue-green")

    (exposure,) = [one for one in alma.recent_episodes()[0].shown if one.used]
    assert exposure.memory_id == outcomes[-1]


def test_an_episode_that_cites_a_rule_records_its_use_and_its_id_stays(alma: ALMA, rule: Heuristic) -> None:
    with alma.episode("dev", TASK) as episode:
        assert episode.observe("As [H1] says.") == [rule.id]
        episode.succeed(strategy="blue-green")

    assert [one.memory_id for one in alma.recent_episodes()[0].shown if one.used] == [rule.id]
    assert [(one.id, one.success_count) for one in heuristics(alma)] == [(rule.id, 4)]
