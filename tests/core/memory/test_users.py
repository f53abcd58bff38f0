"""What is recorded for a user: who reads it, what of it others learn from, and how it is forgotten."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from alma import ALMA, ConfigurationError, ScopeViolationError, ValidationError
from facade import OpenStore

USERS = ["ann", "bob", "cid"]
REFUND, WAIT = "issue_refund(order_id)", "tell the customer to wait for an email from the warehouse"


def recorded(alma: ALMA, user: str | None, *, secret: str = "", agent: str = "bot") -> None:
    """One success and one failure of a refund, in words that no other user has."""
    told: dict[str, Any] = {"user_id": user, "task_type": "refund"}
    alma.learn(agent, f"Refund parcel {secret} of {user}", True, REFUND, **told)
    alma.learn(agent, f"Money back for {secret} of {user}", False, WAIT, error_message=f"{user} was {secret} angry", **told)


def everything(alma: ALMA, user: str | None, agent: str = "bot") -> str:
    """All that a reader gets to see of refunds."""
    asked: dict[str, Any] = {"agent": agent, "user_id": user}
    found = alma.retrieve("Refund the parcel", task_type="refund", top_k=20, explain=True, **asked)
    table = alma.strategies("Refund the parcel", task_type="refund", include_steps=True, **asked)
    warned = alma.check(action=WAIT, task="Refund the parcel", task_type="refund", **asked)
    assessed = alma.assess(REFUND, "Refund the parcel", task_type="refund", **asked)
    return "\n".join([found.to_prompt(4_000), *(dumped(one) for one in (found, table, warned, assessed))])


def dumped(value: BaseModel) -> str:
    """Returns a value as JSON. The order of names in metadata says nothing: a store may change it."""
    return json.dumps(value.model_dump(mode="json"), sort_keys=True)


def test_what_is_recorded_for_a_user_is_read_only_with_that_user(alma: ALMA) -> None:
    recorded(alma, "ann", secret="zebrawood")
    alma.add_domain_knowledge("bot", "people", "zebrawood lives in Rome", user_id="ann")
    alma.add_conversation([("user", "I sail near zebrawood")], "bot", "s1", user_id="ann")
    alma.add_anti_pattern("bot", "zebrawood by mail", "it bounces", user_id="ann")
    alma.add_heuristic("bot", "zebrawood calls", "be brief", user_id="ann")
    with alma.episode("bot", "Refund zebrawood again", user_id="ann", task_type="refund") as episode:
        episode.step("look up zebrawood", error="no zebrawood")
        episode.succeed(strategy="ask for zebrawood")

    for reader in (None, "bob"):
        assert "zebrawood" not in everything(alma, reader)
    assert "zebrawood" in everything(alma, "ann")
    kinds = {memory.kind for memory in alma.retrieve("zebrawood", "bot", user_id="ann", top_k=20)}
    assert kinds >= {"outcome", "domain_knowledge", "conversation", "anti_pattern", "heuristic"}
    assert all(memory.user_id == "ann" for memory in alma.list_memories())
    assert alma.verify().ok


def test_an_empty_user_is_refused(alma: ALMA) -> None:
    with pytest.raises(ScopeViolationError, match="user_id is missing"):
        alma.learn("bot", "Refund", True, user_id=" ")
    with pytest.raises(ScopeViolationError, match="user_id is missing"):
        alma.retrieve("Refund", "bot", user_id="")


def test_a_user_of_one_agent_is_read_by_agents_that_inherit(open_store: OpenStore) -> None:
    with open_store(agents={"junior": {"inherit_from": ["bot"]}}) as alma:
        recorded(alma, "ann", secret="zebrawood")

        assert "zebrawood" in everything(alma, "ann", agent="junior")
        assert "zebrawood" not in everything(alma, "bob", agent="junior")
        assert "zebrawood" not in everything(alma, "ann", agent="stranger")


def test_a_warning_says_of_no_error_that_it_was_not_recorded_because_it_is_held_back(alma: ALMA) -> None:
    for user in USERS:  # a task in the same words, of which any may read
        told = {"task_type": "refund", "user_id": user, "error_message": f"{user} was angry"}
        alma.learn("bot", "Refund the parcel", False, WAIT, **told)

    seen = everything(alma, None)

    assert f"[A1] {WAIT}: failed 3 of 3 times" in seen
    assert "angry" not in seen
    assert "no error was recorded" not in seen


def test_rules_come_from_several_users_without_the_words_of_any(alma: ALMA) -> None:
    for user in [*USERS, "dan"]:
        recorded(alma, user, secret=f"secret-{user}")

    for reader in ("eve", None):
        seen = everything(alma, reader)
        assert "secret-" not in seen
        assert not any(f"of {user}" in seen for user in USERS)
        assert f"[H1] {REFUND}: worked 4 of 4 times (4 tasks" in seen
        assert f"[A1] {WAIT}: failed 4 of 4 times (4 tasks" in seen
    (rule,) = alma.list_memories("heuristic")
    assert rule.user_id is None
    assert alma.verify().ok


def test_an_error_is_quoted_if_two_users_met_the_same(alma: ALMA) -> None:
    for number, user in enumerate([*USERS, "dan"]):
        alma.learn("bot", f"Refund {user}", True, REFUND, user_id=user, task_type="refund")
        error = "timeout" if number in (1, 2) else f"timeout after 3{number} s at 10.0.0.{number}"
        alma.learn("bot", f"Return {user}", False, WAIT, user_id=user, task_type="refund", error_message=error)

    (warning,) = alma.check("bot", WAIT, task_type="refund").warnings
    assert '"timeout"' in warning.summary
    assert "10.0.0." not in warning.summary


def test_a_strategy_of_a_single_user_is_told_to_no_other(alma: ALMA) -> None:
    for number in range(4):
        alma.learn("bot", f"Refund {number}", True, "the secret way", user_id="ann", task_type="refund")
        alma.learn("bot", f"Return {number}", False, "another way", user_id="ann", task_type="refund")

    assert [record.strategy for record in alma.strategies(agent="bot", task_type="refund", user_id="bob").rows] == []
    assert "secret way" in everything(alma, "ann")
    assert [rule.user_id for rule in alma.list_memories("heuristic")] == ["ann"]


def test_own_outcomes_are_counted_with_those_of_others(alma: ALMA) -> None:
    for user in USERS:
        recorded(alma, user)

    alone = {record.strategy: record.trials for record in alma.strategies(agent="bot", task_type="refund", user_id="eve").rows}
    assert alone == {REFUND: 3, WAIT: 3}
    with_own = alma.strategies(agent="bot", task_type="refund", user_id="ann").rows
    assert {record.strategy: record.trials for record in with_own} == alone


def test_what_users_tried_at_tasks_of_their_own_is_tried_there_without_a_user(open_store: OpenStore) -> None:
    with open_store() as alma:
        for user in USERS:
            recorded(alma, user, secret=f"box {user}")
        head = alma.get_stats().journal_records
        alma.learn("bot", "Refund parcel box cid of cid", True, REFUND, task_type="refund")
        assert alma.verify().ok
        before = everything(alma, None)
        tried = [(row.strategy, row.trials) for row in alma.strategies(agent="bot", task_type="refund")]
    with open_store() as alma:
        assert everything(alma, None) == before
        alma.undo(to=head)
        alma.learn("bot", "Refund parcel box cid of cid", True, REFUND, task_type="refund")
        assert [(row.strategy, row.trials) for row in alma.strategies(agent="bot", task_type="refund")] == tried
        assert alma.verify().ok


@pytest.mark.parametrize("other_first", [True, False])
def test_outcomes_with_and_without_a_user_share_their_rules(alma: ALMA, other_first: bool) -> None:
    users = [None, "ann", None, "bob"] if other_first else ["ann", None, "bob", None]
    for number, user in enumerate(users):
        alma.learn("bot", f"Refund {number}", True, REFUND, user_id=user, task_type="refund")
        alma.learn("bot", f"Return {number}", False, WAIT, user_id=user, task_type="refund")

    (record,) = (row for row in alma.strategies(agent="bot", task_type="refund").rows if row.strategy == REFUND)
    assert (record.successes, record.trials) == (4, 4)
    assert alma.verify().ok


def test_many_at_once_are_learned_as_one_after_the_other(open_store: OpenStore, tmp_path: Path) -> None:
    items = [
        {
            "agent": "bot",
            "task": f"{word} {number}",
            "outcome": is_good,
            "strategy_used": way,
            "task_type": "refund",
            "user_id": user,
        }
        for number, user in enumerate(["ann", None, "bob", "cid", None])
        for word, is_good, way in (("Refund", True, REFUND), ("Return", False, WAIT))
    ]
    seen = []
    for place, learns in (("many", True), ("each", False)):
        with open_store(place) as alma:
            if learns:
                alma.learn_many(items)
            else:
                for item in items:
                    alma.learn(**item)
            rules = sorted((one.kind, one.text) for one in alma.list_memories() if one.kind != "outcome" and one.user_id is None)
            seen.append((rules, [row.trials for row in alma.strategies(agent="bot", task_type="refund").rows]))
            assert alma.verify().ok
    assert seen[0] == seen[1]


def test_where_users_are_isolated_nothing_crosses(open_store: OpenStore) -> None:
    with open_store(users="isolated") as alma:
        for user in [*USERS, "dan"]:
            recorded(alma, user)

        assert alma.strategies(agent="bot", task_type="refund", user_id="eve").rows == ()
        assert not alma.retrieve("Refund the parcel", "bot", user_id="eve", task_type="refund")
        assert [row.trials for row in alma.strategies(agent="bot", task_type="refund", user_id="ann").rows] == [1, 1]


def test_where_users_share_all_is_read_by_all_but_preferences(open_store: OpenStore) -> None:
    with open_store(users="shared") as alma:
        for user in [*USERS, "dan"]:
            recorded(alma, user, secret=f"secret-{user}")
        alma.add_user_preference("ann", "style", "likes zebrawood")

        seen = everything(alma, "eve")
        assert all(f"secret-{user}" in seen for user in USERS)
        assert "zebrawood" not in seen


def test_an_unknown_wall_is_a_clear_error(open_store: OpenStore) -> None:
    with pytest.raises(ConfigurationError, match="users is 'open'; it must be 'separate', 'isolated', 'shared'"):
        open_store(users="open")


def test_another_process_learns_from_users_as_this_one(open_store: OpenStore) -> None:
    with open_store() as first, open_store() as second:
        for number, user in enumerate([*USERS, "dan"]):
            recorded((first, second)[number % 2], user)
            assert everything(first, "eve") is not None

        tables = [alma.strategies(agent="bot", task_type="refund", user_id="eve").rows for alma in (first, second)]
        assert tables[0] == tables[1]
        assert [row.trials for row in tables[0]] == [4, 4]


def test_a_corrected_verdict_of_a_user_changes_the_counts_of_all(alma: ALMA) -> None:
    for user in USERS:
        with alma.episode("bot", f"Refund for {user}", user_id=user, task_type="refund", episode_id=user) as episode:
            episode.succeed(strategy=REFUND)
    alma.settle("ann", "failure")

    (record,) = alma.strategies(agent="bot", task_type="refund", user_id="eve").rows
    assert (record.successes, record.trials) == (2, 3)
    assert alma.verify().ok


def filled(alma: ALMA) -> None:
    for user in [*USERS, "dan"]:
        word = "zebrawood" if user == "ann" else "plain"
        recorded(alma, user, secret=word)
        alma.add_user_preference(user, "style", f"likes {word}")
        alma.add_conversation([(user, f"I like {word}")], "bot", f"s-{user}", user_id=user)
        alma.add_domain_knowledge("bot", "people", f"{user} has {word}", user_id=user)
        with alma.episode("bot", f"Ask {word}", user_id=user, run_id=f"run-{user}") as episode:
            episode.step(f"call {word}", output=f"got {word}")
            episode.succeed()
        alma.episode("bot", f"Waiting for {word}", user_id=user).suspend()


def test_forgetting_a_user_leaves_nothing_of_it_anywhere(open_store: OpenStore, tmp_path: Path) -> None:
    with open_store() as alma, open_store() as other:
        filled(alma)
        gone = alma.learn("bot", "zebrawood undone", True, user_id="ann")
        alma.undo(alma.get_stats().journal_records - 1)
        alma.forget(memory_ids=[alma.learn("bot", "zebrawood archived", True, user_id="ann").id])
        assert "zebrawood" in everything(other, "ann")
        planned = alma.forget_user("ann", dry_run=True)

        report = alma.forget_user("ann")

        assert gone.id in report.memory_ids
        assert planned.by_kind == report.by_kind
        assert report.receipt is not None
        assert not report.receipt.left
        assert alma.users() == ["bob", "cid", "dan"]
        assert alma.verify().ok
        for store in (alma, other):
            assert "zebrawood" not in everything(store, "ann")
            assert not store.list_memories(user_id="ann")
        assert not any("zebrawood" in record.model_dump_json() for record in alma.recent_episodes(100))
        assert alma.strategies(agent="bot", task_type="refund").rows[0].trials == 3
        alma.export(tmp_path / "rest.jsonl")
        assert "zebrawood" not in (tmp_path / "rest.jsonl").read_text()
        assert '"ann"' not in (tmp_path / "rest.jsonl").read_text()
        alma.compact()
        folder = Path(alma.storage.file).parent
    for file in folder.rglob("*"):
        if file.is_file():
            assert not {b"zebrawood", b"\x1fann"} & {word for word in (b"zebrawood", b"\x1fann") if word in file.read_bytes()}


def test_a_user_that_was_forgotten_can_come_back(open_store: OpenStore) -> None:
    with open_store() as alma, open_store() as other:
        filled(alma)
        assert other.retrieve("Refund", "bot", user_id="ann")
        alma.forget_user("ann")
        recorded(other, "ann", secret="new")

        assert [len(store.list_memories("outcome", user_id="ann")) for store in (alma, other)] == [2, 2]
        assert alma.verify().ok
        alma.forget_user("ann")
        assert other.list_memories(user_id="ann") == []
        assert other.verify().ok


def test_a_rule_that_a_single_user_would_be_left_of_goes_with_the_other(alma: ALMA) -> None:
    for user in ("ann", "bob"):
        for number in range(2):
            recorded(alma, user, secret=str(number))
    assert [rule.user_id for rule in alma.list_memories("heuristic")].count(None) == 1

    alma.forget_user("ann")

    assert None not in [rule.user_id for rule in alma.list_memories("heuristic")]
    assert alma.strategies(agent="bot", task_type="refund", user_id="eve").rows == ()
    assert alma.verify().ok


def test_forgetting_an_unknown_user_is_an_empty_report(alma: ALMA) -> None:
    recorded(alma, "ann")
    records = alma.get_stats().journal_records

    assert alma.forget_user("eve").total == 0
    assert alma.get_stats().journal_records == records


def test_what_is_of_a_user_can_be_exported_and_imported(open_store: OpenStore, tmp_path: Path) -> None:
    with open_store("one") as alma, open_store("two") as copy:
        filled(alma)
        alma.export(tmp_path / "ann.jsonl", user_id="ann")
        copy.import_from(tmp_path / "ann.jsonl")

        assert copy.users() == ["ann"]
        assert len(copy.list_memories("outcome")) == len(alma.list_memories("outcome", user_id="ann"))
        assert {record.user_id for record in copy.recent_episodes()} == {"ann"}
        assert copy.verify().ok
        with pytest.raises(ValidationError, match="an agent or a user_id, not both"):
            alma.export(tmp_path / "x.jsonl", agent="bot", user_id="ann")


def test_an_export_of_an_agent_has_what_it_recorded_for_users(alma: ALMA, tmp_path: Path) -> None:
    filled(alma)
    report = alma.export(tmp_path / "bot.jsonl", agent="bot")

    learned = [rule for rule in alma.list_memories(agent="bot", limit=1000) if rule.metadata.get("learned")]
    assert report.counts.memories == len(alma.list_memories(agent="bot", limit=1000)) - len(learned)


def test_an_idempotency_key_is_of_one_user(alma: ALMA) -> None:
    first = alma.learn("bot", "Refund", True, user_id="ann", idempotency_key="k")

    assert alma.learn("bot", "Refund", True, user_id="ann", idempotency_key="k").id == first.id
    with pytest.raises(Exception, match="differs in its user"):
        alma.learn("bot", "Refund", True, user_id="bob", idempotency_key="k")


def test_rules_of_all_do_not_count_a_forgotten_user(alma: ALMA) -> None:
    deployment = {"agent": "dev", "task_type": "deployment"}
    for service in ("auth", "search", "cart"):
        alma.learn(task=f"Deploy the {service} service", outcome="success", strategy_used="blue-green deployment", **deployment)
    alma.learn(task="Deploy mail", outcome="failure", strategy_used="rolling update", error_message="no image", **deployment)
    failing = {"outcome": "failure", "strategy_used": "rolling update", "error_message": "no manifest"}
    alma.learn(task="Deploy login", user_id="ann", **failing, **deployment)
    alma.learn(task="Deploy login", outcome="partial", strategy_used="rolling update", **deployment)
    assert alma.check("dev", "do a rolling update").warnings

    alma.forget_user("ann")

    assert alma.check("dev", "do a rolling update").warnings == ()
    assert alma.list_memories(kind="anti_pattern") == []
    rows = alma.strategies(task_type="deployment", agent="dev")
    assert [row.trials for row in rows if row.strategy == "rolling update"] == [2]


def test_the_failure_of_a_forgotten_user_counts_no_more_in_a_rule_that_stays(alma: ALMA) -> None:
    for service in ("auth", "search"):
        alma.learn("dev", f"Deploy {service}", "failure", "rolling update", task_type="deployment", error_message="no image")
    alma.learn(
        "dev", "Deploy login", "failure", "rolling update", task_type="deployment", error_message="no manifest", user_id="ann"
    )
    (seen,) = (one for one in alma.list_memories(kind="anti_pattern") if one.user_id is None)
    assert seen.occurrence_count == 3

    alma.forget_user("ann")

    (left,) = alma.list_memories(kind="anti_pattern")
    assert (left.occurrence_count, left.why_bad) == (2, "no image")
    assert "2 of 2 times" in alma.check("dev", "do a rolling update").warnings[0].summary
