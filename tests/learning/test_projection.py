"""What a projection says depends on its trials alone; every outcome counts once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma_learning import SENTENCES, Embedding, Needed, Projection, Question, Side, Status
from alma_learning.background import scale
from learning_worlds import CountingVectors, embed, fold, logs, make_trial, read

QUESTIONS = [Question("deploy shop", "deploy shop"), Question("refund it"), Question(task_type="ops"), Question()]


@settings(deadline=None, max_examples=25)
@given(logs(), st.data())
def test_folding_in_parts_with_questions_between_equals_folding_at_once(trials, data):
    in_parts = fold([])
    rest = list(trials)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        in_parts.extend(rest[:size])
        in_parts.table(data.draw(st.sampled_from(QUESTIONS)))
        rest = rest[size:]
    assert read(in_parts) == read(fold(trials))


def test_a_proof_between_questions_counts_the_kinds_that_came_since():
    trials = [make_trial(number, f"deploy api {number}", "canary release", source="tool") for number in range(13)]
    trials += [make_trial(number, f"refund order {number}", "", None) for number in range(13, 15)]
    trials += [make_trial(number, f"deploy api {number}", "rolling update", 0.0, source="tool") for number in range(15, 18)]
    trials += [make_trial(18, "plan trip", "by train")]
    in_parts = fold(trials[:-1])
    assert len(list(in_parts.tables())) == 2
    in_parts.extend(trials[-1:])
    assert len(list(in_parts.tables())) == 3
    assert read(in_parts) == read(fold(trials))


@settings(deadline=None, max_examples=25)
@given(logs(), st.data())
def test_removing_equals_never_having_been(trials, data):
    gone = set(data.draw(st.lists(st.sampled_from([trial.id for trial in trials]), max_size=5))) if trials else set()
    projection = fold(trials)
    projection.table(Question("deploy shop"))
    projection.remove(gone)
    assert len(projection) == len(trials) - len(gone)
    assert read(projection) == read(fold([trial for trial in trials if trial.id not in gone]))


@settings(deadline=None, max_examples=25)
@given(logs(), st.data())
def test_a_known_id_replaces_and_a_late_number_is_put_where_it_belongs(trials, data):
    if not trials:
        return
    place = data.draw(st.integers(0, len(trials) - 1))
    changed = make_trial(place, data.draw(st.sampled_from(["deploy api", trials[place].task])), "by train", 0.0, error="late")
    verdict = data.draw(st.sampled_from([changed, make_trial(**{**_fields(trials[place]), "worth": 0.5})]))
    projection = fold([trial for trial in trials if trial.number != place])
    projection.table(Question("plan trip"))
    projection.extend([trials[place]])
    projection.table(Question("plan trip"))
    projection.extend([verdict])
    assert read(projection) == read(fold([*trials[:place], verdict, *trials[place + 1 :]]))


def _fields(trial):
    return {name: value for name, value in trial._asdict().items() if name != "id"}


@settings(deadline=None, max_examples=25)
@given(logs())
def test_every_outcome_counts_once(trials):
    projection = fold(trials)
    tables = [*projection.tables(), *projection.tables(of_steps=True)]
    assert sum(table.trials for table in tables) == sum(trial.worth is not None for trial in trials)
    shown = [outcome for table in tables for row in table.rows for outcome in row.outcomes]
    assert sorted(shown) == sorted(trial.id for trial in trials if trial.way)
    for table in tables:
        for row in table.rows:
            assert row.successes + row.partials + row.failures == row.trials == len(row.outcomes) - row.unverified
            assert sum(tried for _, _, tried in row.by_agent.values()) == row.trials
            assert 0 <= row.lower <= row.mean <= row.upper <= 1
            assert (row.status is None) == (row.side is Side.TRIED)
            assert row.anchors
            assert set(row.anchors) <= set(row.outcomes)
            if 2 * row.successes > row.trials:
                assert row.side is not Side.FAILS
        keys = [(row.mean, row.trials) for row in table.rows]
        assert keys == sorted(keys, reverse=True)


@settings(deadline=None, max_examples=25)
@given(
    logs(),
    st.lists(st.booleans(), min_size=40, max_size=40),
    st.lists(st.sampled_from(["u1", "u2", "u3"]), min_size=40, max_size=40),
)
def test_words_that_one_other_user_brought_are_never_shown(trials, hidden, users):
    trials = [
        make_trial(**_fields(trial) | ({"user": user, "is_hidden": True} if is_hidden else {}))
        for trial, is_hidden, user in zip(trials, hidden, users, strict=False)
    ]

    def may_show(text, of):
        brought = {trial.user for trial in trials if of(trial) == text}
        return None in brought or len(brought) > 1

    for table in fold(trials).tables():
        for row in table.rows:
            assert all(may_show(way, lambda trial: trial.way) for way in [row.way, *row.wordings])
            assert row.error is None or may_show(row.error, lambda trial: trial.error)
            assert row.task_text is None or may_show(row.task_text, lambda trial: trial.text)


@pytest.mark.parametrize("words", [None, "deploy the heart"])
def test_how_near_a_question_is_to_words_of_other_users_is_not_told(words):
    hidden = [
        make_trial(n, "deploy the heart", user=user, is_hidden=True, words=words) for n, user in enumerate(["ann", "bob"] * 2)
    ]
    projection = fold([*hidden, *(make_trial(n, f"deploy {n}", "canary of few", 0.0) for n in range(4, 8))])
    same, other = (projection.table(Question(text, text)) for text in ("deploy the heart", "deploy the lungs"))
    assert [row.way for row in same.rows] == [row.way for row in other.rows]
    assert max(same.similarities) < 1
    assert same.own == (0, 0, 0)
    assert projection.table(Question("deploy 5", "deploy 5")).own == (0, 0, 1)


def test_a_way_of_hidden_wordings_alone_has_no_row_and_its_trials_count():
    projection = fold(
        [make_trial(n, user="u1", is_hidden=True) for n in range(3)] + [make_trial(3, way="rolling update", worth=0.0)]
    )
    table = projection.table(Question("deploy shop"))
    assert [row.way for row in table.rows] == ["rolling update"]
    assert (table.trials, table.successes) == (4, 3)


def test_an_unrelated_question_gets_nothing_in_a_store_of_one_kind():
    projection = fold([make_trial(n, task) for n, task in enumerate(["deploy api", "deploy shop", "deploy search"] * 2)])
    assert projection.table(Question("deploy billing")).rows[0].successes == 6
    assert not projection.table(Question("bake a cake")).rows


def _learn_two_alike(way_of):
    """Twelve tasks of one narrow field, half of them by train and half by car, each with two ways that say nearly the same."""
    trials = []
    for number in range(24):
        task = f"deploy deploy deploy {('train', 'car')[number % 2]} {number % 12}"
        trials.append(make_trial(number, task, f"canary canary canary {way_of(number)} {number}"))
    return fold(trials)


def test_situations_that_are_alike_in_words_are_apart_where_other_ways_are_tried_on_them():
    projection = _learn_two_alike(lambda number: ("money", "apologise")[number % 2])
    for word, way in (("train", "money"), ("car", "apologise")):
        table = projection.table(Question(f"deploy deploy deploy {word} today"))
        assert table.trials == 12
        assert all(way in wording for row in table.rows for wording in row.wordings)


def test_situations_that_are_alike_in_words_are_one_where_the_same_ways_are_tried_on_them():
    projection = _learn_two_alike(lambda number: ("money", "apologise")[number // 2 % 2])
    assert projection.table(Question("deploy deploy deploy train today")).trials == 24


@pytest.mark.parametrize("near", [0, 6])
def test_a_question_must_be_nearer_than_the_fixed_sentences(near):
    def embed_with_sentences(texts):
        return embed([text + " deploy" * (text in SENTENCES[:near]) for text in texts])

    projection = Projection(embed_with_sentences)
    projection.extend([make_trial(n, f"deploy {n % 6}") for n in range(12)])
    assert projection.table(Question("deploy it")).rows
    assert bool(projection.table(Question("deploy the money by train by car")).rows) is not bool(near)


def test_wordings_that_are_no_more_alike_than_with_other_kinds_are_several_ways():
    names = ["alpha", "bravo", "delta", "hotel", "india", "tango"]
    vectors = {name: np.eye(12, dtype=np.float32)[n] + np.float32(0.6) for n, name in enumerate(names)}

    def embed_tools(texts):
        return scale(np.stack([np.pad(vectors[t], (0, 36)) if t in vectors else embed([t])[0] for t in texts]))

    def count_rows(other):
        projection = Projection(embed_tools)
        used = [make_trial(n, f"deploy {n % 3}", names[n % 3], task_type="ops") for n in range(9)]
        projection.extend([*used, *(make_trial(9 + n, f"plan {n % 3}", other(n % 3), task_type="desk") for n in range(9))])
        return len(projection.table(Question("deploy it")).rows)

    assert count_rows(lambda n: f"by train {n}") == 1
    assert count_rows(lambda n: names[n + 3]) == 3


def test_steps_have_a_table_of_their_own_on_the_kinds_of_task_of_their_attempts():
    trials = []
    for number in range(24):
        task, way = (f"deploy {number}", "canary release") if number % 2 else (f"refund {number}", "send the money")
        trials += [make_trial(3 * number, task, way), make_trial(3 * number + 1, task, "look it up", 0.0, is_step=True)]
    projection = fold(trials)
    attempts, steps = (projection.table(Question("deploy it", of_steps=of_steps)) for of_steps in (False, True))
    assert [(row.way, row.successes, row.trials) for row in attempts.rows] == [("canary release", 12, 12)]
    assert [(row.way, row.successes, row.trials) for row in steps.rows] == [("look it up", 0, 12)]
    assert projection.find("look it up", Question("deploy it")) is None
    assert projection.find("look it up", Question("deploy it", of_steps=True)).row.failures == 12


def test_a_wording_found_on_another_kind_of_task_is_said_to_be_found_elsewhere():
    projection = fold(
        [make_trial(n, "refund order", "send the money", 0.0) for n in range(3)] + [make_trial(9, "plan trip", "by train")]
    )
    found = projection.find("Send the money", Question("plan visit"))
    assert found.is_elsewhere
    assert found.row.failures == 3
    assert not projection.find("by train", Question("plan visit")).is_elsewhere
    assert projection.find("never heard of", Question("plan visit")) is None


def test_the_same_task_has_similarity_one_and_its_own_kind():
    projection = fold([make_trial(1, "deploy api"), make_trial(2, "plan trip", "by train")])
    table = projection.table(Question("plan trip", "plan trip"))
    assert [(row.way, near) for row, near in zip(table.rows, table.similarities, strict=True)] == [("by train", 1.0)]


def test_different_stated_types_and_difficulties_are_never_one_kind():
    trials = [
        make_trial(n, f"deploy {n}", task_type=["ops", "desk"][n % 2], difficulty=["easy", "hard", None][n % 3])
        for n in range(12)
    ]
    kinds = [[int(outcome[1:]) for row in table.rows for outcome in row.outcomes] for table in fold(trials).tables()]
    for kind in kinds:
        assert len({n % 2 for n in kind}) == 1
        assert len({n % 3 for n in kind} - {2}) == 1


def test_a_stated_type_is_asked_for_outright():
    projection = fold([make_trial(1, "deploy api", task_type="ops"), make_trial(2, "plan trip", "by train")])
    assert [row.way for row in projection.table(Question("plan visit", task_type="ops")).rows] == ["canary release"]
    assert [row.way for row in projection.table(Question(task_type="ops")).rows] == ["canary release"]
    assert not projection.table(Question("plan visit", task_type="desk", task="other")).rows[1:]


@pytest.mark.parametrize(
    ("source", "agents", "is_borne_out"),
    [("agent", "aa", False), ("imported", "aa", False), ("agent", "ab", True), ("tool", "aa", True), ("caller", "aa", True)],
)
def test_an_alternative_needs_more_than_one_own_word(source, agents, is_borne_out):
    good = [make_trial(n, f"deploy {n % 2}", "by train", agent=agents[n % 2], source=source) for n in range(4)]
    bad = [make_trial(10 + n, f"deploy {n}", "canary release", 0.0) for n in range(3)]
    row = fold([*good, *bad]).table(Question("deploy it")).find("canary release")
    assert row.side is Side.FAILS
    assert (row.alternative is not None) is is_borne_out


@pytest.mark.parametrize(("source", "status"), [("tool", Status.PROVEN), ("agent", Status.LIKELY), ("imported", Status.LIKELY)])
def test_nothing_is_proven_on_an_own_word_alone(source, status):
    trials = [make_trial(n, f"deploy {n}", ["by train", "canary release"][n % 2], float(n % 2), source=source) for n in range(60)]
    rows = {row.way: row for row in fold(trials).table(Question("deploy it")).rows}
    assert rows["canary release"].status is status


def test_a_rule_needs_the_trials_of_one_agent_alone():
    trials = [make_trial(n, f"deploy {n}", agent="ab"[n % 2]) for n in range(4)]
    assert fold(trials).table(Question("deploy it")).rows[0].side is Side.TRIED
    strict = fold([make_trial(n, f"deploy {n}") for n in range(4)], needed=lambda agent: Needed(successes=5))
    assert strict.table(Question("deploy it")).rows[0].side is Side.TRIED
    assert fold([make_trial(n, f"deploy {n}") for n in range(4)]).rules()[0][0].side is Side.WORKS


def test_trials_of_other_agents_weigh_half_in_the_estimate_and_count_whole():
    trials = [make_trial(1, agent="b"), make_trial(2, "deploy shop", agent="b")]
    mine, all_ = (fold(trials, reader=reader).table(Question("deploy it")).rows[0] for reader in ("a", None))
    assert mine.trials == all_.trials == 2
    assert mine.mean < all_.mean


def test_words_alone_join_equal_wordings_alone():
    def embed_by_field(texts):
        return embed([text.replace("roll", "canary roll") for text in texts])

    trials = [make_trial(1, way="Canary, release!"), make_trial(2, way="canary release"), make_trial(3, way="roll release")]
    projection = Projection(embed_by_field, embedding=Embedding.WORDS)
    projection.extend(trials)
    assert sorted(row.trials for row in projection.table(Question("deploy api")).rows) == [1, 2]


def test_vectors_are_asked_for_once_and_in_batches():
    vectors = CountingVectors()
    projection = Projection(vectors)
    projection.extend([make_trial(n, f"deploy {n}") for n in range(5)])
    projection.table(Question("deploy it", vector=embed(["deploy it"])[0]))
    projection.extend([make_trial(9, "deploy 1", worth=0.0)])
    projection.table(Question("deploy it", vector=embed(["deploy it"])[0]))
    assert len(vectors.asked) == len(set(vectors.asked)) == 6


def test_older_wordings_than_are_compared_join_the_groups_of_the_newest(monkeypatch):
    monkeypatch.setattr("alma_learning.ways.NEWEST", 3)
    ways = [
        "a canary of few servers",
        "traffic moved to the canary bit by bit",
        "by train",
        "canary release",
        "small share served from canary hosts",
    ]
    table = fold([make_trial(n, f"deploy {n}", way) for n, way in enumerate(ways)]).table(Question("deploy it"))
    assert max(row.trials for row in table.rows) == 4


@pytest.mark.parametrize(
    ("failures", "working", "failing", "rows"),
    [
        (2, "canary release", "a canary of few servers", 1),
        (6, "canary release", "a canary of few servers", 2),
        (6, "look, then deploy(way='canary')", "deploy(way='canary')", 1),
        (6, "docker compose down && docker compose up", "docker compose up", 2),
    ],
)
def test_outcomes_part_two_wordings_of_which_one_works_unless_they_make_the_same_calls(failures, working, failing, rows):
    ways = [(working, 1.0), (failing, 0.0)]
    trials = [make_trial(2 * n + k, f"deploy {n}", way, worth) for n in range(failures) for k, (way, worth) in enumerate(ways)]
    projection = Projection(lambda texts: embed(["canary" if text in (working, failing) else text for text in texts]))
    projection.extend(trials)
    table = projection.table(Question("deploy it"))
    assert sorted(row.trials for row in table.rows) == [2 * failures // rows] * rows


def test_of_equal_ways_the_newest_comes_first():
    ways = ["by train", "send the money", "canary release"]
    table = fold([make_trial(n, f"deploy {n}", way) for n, way in enumerate(ways)]).table(Question("deploy it"))
    assert [row.way for row in table.rows] == ways[::-1]


@pytest.mark.parametrize("question", [Question(), Question("deploy it"), Question(task="deploy api"), Question(task_type="ops")])
def test_an_empty_projection_says_nothing_and_embeds_no_background(question):
    projection = Projection(lambda texts: pytest.fail("embedded") if len(texts) > 1 else embed(texts))
    assert projection.table(question).rows == ()
    assert projection.find("canary", question) is None
    assert list(projection.tables()) == projection.rules() == []


def test_of_many_tasks_the_newest_count(monkeypatch):
    monkeypatch.setattr("alma_learning.projection.NEWEST_TASKS", 3)
    projection = fold([make_trial(n, f"deploy {n}") for n in range(8)])
    assert sum(table.trials for table in projection.tables()) == 3
