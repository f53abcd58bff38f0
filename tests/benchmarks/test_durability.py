"""The benchmark of kills and faults finds nothing, and would find what there is: a checker that cannot fail proves nothing."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from benchmarks.durability.checking import check, check_files
from benchmarks.durability.faults import SCENARIOS
from benchmarks.durability.faults.trials import HAND, Answers, judged, work
from benchmarks.durability.findings import Findings
from benchmarks.durability.hands import Hand, new_hand
from benchmarks.durability.intents import Intent, Made, intent_from
from benchmarks.durability.ledgers import Ledger, read_account
from benchmarks.durability.plans import plan_of
from benchmarks.durability.states import State
from benchmarks.durability.stores import SHARED, Opens, opened

Run = Callable[..., subprocess.CompletedProcess[str]]

CALLS = 60
QUICK = ("clock", "locks-attacked", "torn-database", "torn-snapshot")


@pytest.mark.slow
def test_twenty_rounds_of_kills_lose_nothing(tmp_path: Path, run_benchmark: Run) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("durability", "--scenario", "kills", "--rounds", 20, "--json", out)

    assert done.returncode == 0, done.stdout + done.stderr
    body = json.loads(out.read_text())
    assert [row["what"] for row in body["gates"] if row["holds"] is False] == []
    assert [each["round"] for each in body["rounds"]] == list(range(20))
    assert sum(each["kills"] for each in body["rounds"]) >= 20
    assert sum(row.get("acknowledged", 0) for row in body["calls"].values()) >= 200
    assert sum(sum(each["killed_in"].values()) for each in body["rounds"]) > 0


@pytest.mark.slow
def test_processes_that_are_not_killed_leave_exact_counts(tmp_path: Path, run_benchmark: Run) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("durability", "--scenario", "counts", "--calls", 12, "--json", out)

    assert done.returncode == 0, done.stdout + done.stderr
    (counted,) = json.loads(out.read_text())["counts"]
    assert counted["calls"]["acknowledged"] >= 8 * 12
    assert counted["faults"] == {}


@pytest.mark.slow
def test_faults_end_in_clear_errors_or_in_repair(tmp_path: Path, run_benchmark: Run) -> None:
    out = tmp_path / "out.json"
    chosen = [argument for name in QUICK for argument in ("--scenario", name)]
    done = run_benchmark("durability", *chosen, "--trials", 3, "--json", out)

    assert done.returncode == 0, done.stdout + done.stderr
    trials = json.loads(out.read_text())["trials"]
    assert set(trials) == set(QUICK) <= set(SCENARIOS)
    assert all(len(each) >= (1 if name == "locks-attacked" else 3) for name, each in trials.items())  # one attack is left


def test_a_round_is_drawn_from_its_seed_and_number_alone() -> None:
    assert plan_of(7, 3) == plan_of(7, 3)
    assert len({plan_of(seed, number) for seed in (1, 2) for number in range(20)}) == 40
    assert {plan_of(1, number).sort for number in range(60)} >= {"mixed", "threads", "opens and forks", "creation"}


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[Hand]:
    """A hand that has made calls of every kind in a store of its own, all acknowledged."""
    files = tmp_path / "files"
    files.mkdir()
    opens = Opens(tmp_path / "store")
    made = new_hand(HAND, opens, files, "seed")
    work(made, CALLS)
    yield made
    opens.main.close()


def faults(tmp_path: Path) -> Findings:
    """What a check finds in the store of `hand`, as a process finds it that opens it anew."""
    checked = check(tmp_path / "store", tmp_path / "files", "seed")
    checked.findings.merge(check_files(tmp_path / "store", checked))
    return checked.findings


def execute(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "store" / "alma.db", isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount > 0


@pytest.mark.slow
def test_a_store_that_holds_what_the_ledger_says_is_clean(hand: Hand, tmp_path: Path) -> None:
    hand.opens.main.close()
    found = faults(tmp_path)

    assert found.faults == {}
    assert found.checked["memories"] > 20
    assert found.checked["searches"] > 10
    assert found.checked["erased words"] > 0


@pytest.mark.slow
def test_an_older_copy_of_the_store_has_lost_calls(hand: Hand, tmp_path: Path) -> None:
    hand.opens.main.close()
    shutil.copy(tmp_path / "store" / "alma.db", tmp_path / "older")
    hand.opens = Opens(tmp_path / "store")
    work(hand, CALLS // 2)
    hand.opens.main.close()
    shutil.copy(tmp_path / "older", tmp_path / "store" / "alma.db")
    found = faults(tmp_path)

    assert found.counts["lost"] > 0
    assert found.lost_calls.total() > 0


def test_a_call_that_no_ledger_has_is_found(hand: Hand, tmp_path: Path) -> None:
    hand.opens.main.learn(HAND, "nobody wrote this down", "success")
    hand.opens.main.close()

    assert faults(tmp_path).counts["phantom"] > 0


@pytest.mark.slow
def test_a_call_that_was_killed_may_be_there_or_not(hand: Hand, tmp_path: Path) -> None:
    made = Made("zzunknownq", "outcome", HAND, "the task of zzunknownq", verdict="success", tried=("deploys", "way"))
    hand.ledger.intend(Intent("learn", SHARED, HAND, ("learn",), (made,)))
    hand.opens.main.close()
    assert faults(tmp_path).faults == {}

    with opened(tmp_path / "store") as alma:
        alma.learn(HAND, made.text, "success", "way", task_type="deploys")
    assert faults(tmp_path).faults == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "sort"),
    [
        ("DELETE FROM memory WHERE row = (SELECT max(row) FROM memory)", "lost"),
        ("DELETE FROM journal WHERE place = (SELECT max(place) FROM journal)", "lost"),
        ("UPDATE usage SET used = used + 1", "half"),
        ("UPDATE memory SET successes = 1 - successes WHERE trials = 1", "counts"),
        ("UPDATE memory SET archived_at = 1 WHERE archived_at IS NULL", "half"),
        ("DELETE FROM passage", "verify"),
        ("UPDATE vector SET vector = zeroblob(length(vector))", "verify"),
    ],
)
def test_rows_that_are_not_those_of_the_calls_are_found(hand: Hand, tmp_path: Path, statement: str, sort: str) -> None:
    hand.opens.main.close()
    execute(tmp_path, statement)

    assert faults(tmp_path).counts[sort] > 0


def test_words_that_were_purged_and_files_that_are_left_over_are_found(hand: Hand, tmp_path: Path) -> None:
    (purged, *_) = hand.state(hand.solo).purged.values() or hand.state(SHARED).purged.values()
    hand.opens.main.close()
    (tmp_path / "store" / ".alma.db.draft").write_text(f"once more: {purged.token}")
    found = faults(tmp_path)

    assert found.counts["bytes"] == 1
    assert found.counts["files"] == 1


@pytest.mark.slow
def test_an_answer_that_was_wrong_meanwhile_and_an_error_outside_the_tree_are_found(hand: Hand, tmp_path: Path) -> None:
    hand.ledger.complain("something is not found")
    with hand.calling(Intent("learn", SHARED, HAND, ("learn",))):
        raise KeyError("row 7")
    hand.opens.main.close()
    found = faults(tmp_path)

    assert found.counts["wrong"] == 1
    assert "KeyError" in found.faults["error"][0]


def test_a_ledger_whose_last_line_is_torn_leaves_the_last_call_in_doubt(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "h.ledger")
    first, second = Intent("learn", SHARED, "h", ("learn",), undoes_to=0), Intent("forget", SHARED, "h", archives=("m1",))
    ledger.intend(first)
    ledger.acknowledge({"t": "m1"}, wrote=True)
    ledger.mark(SHARED, 4)
    ledger.intend(second)
    with (tmp_path / "h.ledger").open("a") as file:
        file.write('{"fate": "ackno')
    account = read_account(tmp_path / "h.ledger")

    assert [(done.intent, done.fate) for done in account.calls] == [(first, "acknowledged"), (second, "unknown")]
    assert account.lines[1] == (SHARED, 4)
    assert intent_from(second.as_json()) == second


def test_the_model_of_an_undo_brings_back_what_was_there_but_nothing_that_was_purged() -> None:
    state = State()
    one, two = (Made(f"zz{name}q", "domain_knowledge", "h") for name in ("one", "two"))
    state.apply(Intent("add", made=(one, two)), {one.token: "m1", two.token: "m2"})
    state.mark(1)
    state.apply(Intent("forget", archives=("m1",)), {})
    state.apply(Intent("purge", purges=("m2",)), {})
    assert state.live == {}
    state.apply(Intent("undo", undoes_to=1), {})

    assert state.live == {"m1": one}


def test_an_answer_that_differs_is_silent_unless_verify_names_the_damage() -> None:
    before = Answers(given={"get": "one", "verify": "done"})
    verdicts = {
        judged("", before, after, is_harmed=False).verdict
        for after in (
            Answers(given={"get": "two", "verify": "done"}),
            Answers(given={"get": "two", "verify": "done"}, is_sound=False),
            Answers(given={"verify": "done"}, errors={"get": "CorruptStoreError"}),
            Answers(given={"get": "one", "verify": "done"}, foreign={"list": "KeyError"}),
            Answers(given={"get": "one", "verify": "done"}),
        )
    }
    assert verdicts == {"silent", "named", "error", "foreign", "unharmed"}
