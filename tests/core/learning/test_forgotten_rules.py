"""Rules that somebody forgot or purged stay away, whatever their evidence says later; demoted ones come back."""

from alma import ALMA
from facade import ManualClock, OpenStore
from learned import heuristics


def told(shop: ALMA, clock: ManualClock, outcome: bool, times: int) -> None:
    for _ in range(times):
        clock.advance(hours=1)
        shop.learn(agent="dev", task="Deploy it", task_type="deploy", outcome=outcome, strategy_used="canary")


def test_a_demoted_heuristic_comes_back_with_its_successes(open_store: OpenStore, clock: ManualClock) -> None:
    shop = open_store()
    told(shop, clock, True, 5)
    (rule,) = heuristics(shop)
    told(shop, clock, False, 6)
    demoted = heuristics(shop)
    told(shop, clock, True, 12)
    assert (demoted, [one.id for one in heuristics(shop)]) == ([], [rule.id])


def test_a_forgotten_heuristic_stays_away_through_demotion_and_return(open_store: OpenStore, clock: ManualClock) -> None:
    shop = open_store()
    told(shop, clock, True, 5)
    (rule,) = heuristics(shop)
    shop.forget(memory_ids=[rule.id])
    told(shop, clock, False, 6)
    told(shop, clock, True, 30)
    assert heuristics(shop) == []
    assert shop.verify().ok


def test_a_purged_heuristic_is_not_made_again(open_store: OpenStore, clock: ManualClock) -> None:
    shop = open_store()
    told(shop, clock, True, 5)
    (rule,) = heuristics(shop)
    shop.purge([rule.id])
    told(shop, clock, False, 6)
    told(shop, clock, True, 30)
    assert heuristics(shop) == []
    assert shop.verify().ok


def test_two_good_strategies_in_turn_do_not_have_a_warning_written_anew_each_time(
    open_store: OpenStore, clock: ManualClock
) -> None:
    shop = open_store()
    for strategy, outcome in [("by ftp", False)] * 3 + [("canary", True), ("blue-green", True)] * 6:
        clock.advance(hours=1)
        shop.learn(agent="dev", task="Deploy it", task_type="deploy", outcome=outcome, strategy_used=strategy)
    (warning,) = shop.list_memories("anti_pattern")
    before = len(shop.history(warning.id))
    for strategy in ["canary", "blue-green"] * 5:
        clock.advance(hours=1)
        shop.learn(agent="dev", task="Deploy it", task_type="deploy", outcome=True, strategy_used=strategy)
    assert len(shop.history(warning.id)) == before
