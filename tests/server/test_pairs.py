"""Pairs of memories that may say the same, over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma.errors import MemoryNotFoundError
from alma_server.settings import ServerSettings
from api_serving import Served, running_app

PAIRS = "/v1/projects/shop/review/pairs"
OPEN = ("The mobile app talks to the gateway over gRPC.", "The mobile app reaches the gateway by gRPC.")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with running_app(tmp_path, settings=ServerSettings(project="shop")) as served:
        yield served


@pytest.fixture
def pair(served: Served) -> list[str]:
    """Ids of two facts of helena's, the older first, of which a consolidation left open whether they say the same."""
    made = [served.alma.add_domain_knowledge("helena", "apps", text).id for text in OPEN]
    served.alma.consolidate("helena", threshold=0.3, dry_run=False)
    return made


def test_a_pair_is_listed_with_its_memories_merged_and_brought_back(served: Served, pair: list[str]) -> None:
    client = served.client()
    found = client.get(PAIRS).json()
    assert (found["total"], found["pairs"][0]["survivor"]) == (1, pair[0])
    assert [each["fact"] for each in found["pairs"][0]["memories"]] == list(OPEN)

    seq = client.post(f"{PAIRS}:judge", json={"memory_ids": pair, "verdict": "merge"}).json()["seq"]

    assert client.get(PAIRS).json() == {"pairs": [], "total": 0}
    with pytest.raises(MemoryNotFoundError):
        served.alma.get(pair[1])
    undone = client.post("/v1/projects/shop/undo", json={"to": seq - 1, "dry_run": False})
    assert undone.status_code == 200
    assert client.get(PAIRS).json() == found


def test_a_pair_that_is_kept_apart_is_not_merged(served: Served, pair: list[str]) -> None:
    client = served.client()
    assert client.post(f"{PAIRS}:judge", json={"memory_ids": pair, "verdict": "keep"}).status_code == 200
    assert client.get(PAIRS).json()["total"] == 0
    refused = client.post(f"{PAIRS}:judge", json={"memory_ids": pair, "verdict": "merge"})
    assert (refused.status_code, "kept these memories apart" in refused.json()["detail"]) == (409, True)


def test_a_token_of_another_agent_or_of_a_user_neither_sees_nor_judges_it(served: Served, pair: list[str]) -> None:
    body = {"memory_ids": pair, "verdict": "keep"}
    other, ann = served.client("victor", agent="victor"), served.client("ann", user_id="ann")
    assert other.get(PAIRS).json() == {"pairs": [], "total": 0}
    assert other.post(f"{PAIRS}:judge", json=body).status_code == 404
    assert [ann.get(PAIRS).status_code, ann.post(f"{PAIRS}:judge", json=body).status_code] == [403, 403]


def test_a_merge_needs_the_right_to_forget(served: Served, pair: list[str]) -> None:
    judge = served.client(rights=("read", "judge"))
    assert judge.post(f"{PAIRS}:judge", json={"memory_ids": pair, "verdict": "merge"}).status_code == 403
    assert judge.post(f"{PAIRS}:judge", json={"memory_ids": pair, "verdict": "keep"}).status_code == 200


def test_without_the_package_that_lists_them_there_are_none(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alma.extensions.find_spec", lambda _: None)
    assert served.client().get(PAIRS).json() == {"pairs": [], "total": 0}
