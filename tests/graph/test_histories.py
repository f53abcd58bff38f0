"""A hundred generated histories: what held on a day is answered, and nothing that still holds is ended."""

import numpy as np
import pytest
from benchmarks.graph import score_histories

from alma_graph.view import View


def test_what_held_on_a_day_is_answered_and_nothing_is_wrongly_ended() -> None:
    found = score_histories(100)
    assert found["right"] >= 0.99
    assert found["wrongly_retired"] == 0


def test_the_score_falls_where_nothing_ends_and_where_everything_does(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = View._limits
    monkeypatch.setattr(View, "_limits", lambda self, edges: np.full(len(edges), 1 << 62))
    assert score_histories(10)["right"] < 0.9
    monkeypatch.setattr(View, "_limits", whole)
    monkeypatch.setattr(View, "_is_single", lambda self, edges: np.ones(len(edges), dtype=np.bool_))
    assert score_histories(10)["wrongly_retired"] > 0
