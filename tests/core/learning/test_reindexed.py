"""Strategies are still told apart by meaning after the store was given another embedder, and after it was made small."""

from pathlib import Path

from alma import ALMA
from facade import StoredIn


def learn(alma: ALMA, strategy: str) -> None:
    alma.learn(agent="dev", task="Deploy the auth service", task_type="deploy", outcome="success", strategy_used=strategy)


def trials(alma: ALMA) -> list[float]:
    return sorted(row.trials for row in alma.strategies(agent="dev"))


def test_a_strategy_told_in_other_words_is_the_same_one_after_reindexing_and_compacting(
    tmp_path: Path, stored_in: StoredIn
) -> None:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", **stored_in(tmp_path / "store")) as alma:
        learn(alma, "restart the service and watch the log")
        alma.reindex("minilm")
    with ALMA.open(tmp_path / "store", project_id="shop", **stored_in(tmp_path / "store")) as alma:
        learn(alma, "Turn the service off and on again and observe its logs")
        together = trials(alma)
        learn(alma, "Kick the service over and look at the log lines")
        alma.compact()
    with ALMA.open(tmp_path / "store", project_id="shop", **stored_in(tmp_path / "store")) as alma:
        learn(alma, "Relaunch the process and monitor the log")
        learn(alma, "rolling update")
        assert (together, trials(alma)) == ([2.0], [1.0, 4.0])
        assert alma.verify().ok
