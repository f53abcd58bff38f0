"""Pinecone's own SDK against a server on loopback that checks every request. No test reaches the service itself."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from alma import ALMA
from alma.errors import ConfigurationError, StorageError
from alma.protocols import CandidateFactory
from alma.testing import CandidateSearchContract, make_vector_changes
from alma_pinecone import PineconeSearch, open_search
from alma_pinecone import unseen as unseen_module
from alma_testing.contracts.candidate_search import DIMENSION, changes, directions, query
from contract_service import Answer, searches_of
from pinecone_service import KEY, PineconeService

QUESTION = "How long do tokens live?"


@pytest.fixture
def service() -> Iterator[PineconeService]:
    made = PineconeService(DIMENSION)
    made.start()
    yield made
    made.stop()
    assert made.mistakes == []


@pytest.fixture
def options(service: PineconeService) -> dict[str, object]:
    return {"api_key": KEY, "host": service.host, "index_name": service.name}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., PineconeSearch]]:
    with searches_of(tmp_path, open_search) as open_it:
        yield open_it


@pytest.fixture
def process(opened: Callable[..., PineconeSearch], options: dict[str, object]) -> Callable[[], PineconeSearch]:
    """Makes searches as processes beside each other have them."""
    return lambda: opened(options)


class TestPineconeSearch(CandidateSearchContract):
    @pytest.fixture
    def factory(self) -> CandidateFactory:
        return open_search

    @pytest.fixture
    def options(self, service: PineconeService) -> dict[str, object]:
        return {"api_key": KEY, "host": service.host}


def found(search: PineconeSearch, limit: int = 99) -> list[int]:
    return search.search(query(), partitions=[0], limit=limit).tolist()


def test_what_was_written_is_found_before_the_service_shows_it(
    process: Callable[[], PineconeSearch], service: PineconeService
) -> None:
    search = process()
    service.hold()
    search.apply(changes(1, directions(5)))
    assert (search.upto, found(search)) == (1, [0, 1, 2, 3, 4])
    search.apply(changes(2, directions(2, seed=1), first=10, removed=[0, 1]))
    assert (search.upto, found(search)) == (2, [2, 3, 4, 10, 11])
    assert [path for _, path in service.seen].count("/vectors/upsert") == 4, "each change is written once"
    service.settle()
    assert (search.upto, found(search)) == (2, [2, 3, 4, 10, 11])


def test_what_was_cleared_counts_as_gone_while_the_service_still_shows_it(
    process: Callable[[], PineconeSearch], service: PineconeService
) -> None:
    search = process()
    search.apply(changes(5, directions(4)))
    service.hold()
    search.clear()
    assert (search.upto, found(search)) == (0, [])
    search.apply(changes(1, directions(1), first=2))
    assert (search.upto, found(search)) == (1, [2])
    service.settle()
    assert (search.upto, found(search)) == (1, [2])


def test_another_process_that_sees_an_older_state_catches_up_by_itself(
    process: Callable[[], PineconeSearch], service: PineconeService
) -> None:
    one, other = process(), process()
    one.apply(changes(1, directions(3)))
    service.hold()
    late = changes(2, directions(2, seed=1), first=10)
    one.apply(late)
    assert other.upto == 1
    other.apply(late)
    assert found(other) == found(one) == [0, 1, 2, 10, 11]
    service.settle()
    assert (one.upto, other.upto, found(other)) == (2, 2, [0, 1, 2, 10, 11])


def test_a_write_that_the_service_lost_is_written_again_after_a_minute(
    process: Callable[[], PineconeSearch], service: PineconeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = process()
    search.apply(changes(1, directions(3)))
    service.namespaces.clear()
    assert search.upto == 1
    monkeypatch.setattr(unseen_module, "PATIENCE_SECONDS", -1.0)
    assert search.upto == 0
    search.apply(changes(1, directions(3)))
    service.settle()
    assert found(search) == [0, 1, 2]


def test_many_long_vectors_are_sent_in_requests_that_are_small_enough(
    service: PineconeService, opened: Callable[..., PineconeSearch], options: dict[str, object]
) -> None:
    service.dimension = 1536
    vectors = np.random.default_rng(0).standard_normal((400, 1536)) / 40
    opened(options, 1536).apply(make_vector_changes(1, vectors, dimension=1536))
    assert len(service.entries()) == 400


def test_more_ids_than_a_request_takes_are_deleted_in_several(
    process: Callable[[], PineconeSearch], service: PineconeService
) -> None:
    search = process()
    search.apply(changes(1, directions(1500)))
    search.apply(changes(2, removed=range(1400)))
    assert sorted(map(int, service.entries())) == list(range(1400, 1500))


def test_an_index_of_too_few_numbers_is_an_error_that_says_what_to_make(
    opened: Callable[..., PineconeSearch], options: dict[str, object]
) -> None:
    with pytest.raises(StorageError, match=f"make an index of dimension {DIMENSION + 1}"):
        opened(options, DIMENSION + 1).apply(make_vector_changes(1, np.eye(DIMENSION + 1)[:1], dimension=DIMENSION + 1))


def test_an_index_is_found_by_its_name(
    service: PineconeService,
    opened: Callable[..., PineconeSearch],
    options: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PINECONE_CONTROLLER_HOST", service.host)
    search = opened({**options, "host": None})
    search.apply(changes(1, directions(2)))
    assert ("GET", f"/indexes/{service.name}") in service.seen
    assert found(search) == [0, 1]


@pytest.fixture
def unmade(monkeypatch: pytest.MonkeyPatch) -> Iterator[PineconeService]:
    """An account without the index."""
    made = PineconeService(1, is_made=False)
    made.start()
    monkeypatch.setenv("PINECONE_CONTROLLER_HOST", made.host)
    yield made
    made.stop()
    assert made.mistakes == []


@pytest.mark.parametrize(
    ("environment", "cloud", "region"),
    [
        ("us-east-1-aws", "aws", "us-east-1"),
        ("europe-west4-gcp", "gcp", "europe-west4"),
        ("eastus2-azure", "azure", "eastus2"),
    ],
)
def test_a_missing_index_is_made_by_the_first_write(
    unmade: PineconeService,
    opened: Callable[..., PineconeSearch],
    caplog: pytest.LogCaptureFixture,
    environment: str,
    cloud: str,
    region: str,
) -> None:
    search = opened({"api_key": KEY, "index_name": unmade.name, "environment": environment})
    assert (search.upto, found(search)) == (0, [])
    assert not unmade.is_made, "a look makes nothing"
    search.apply(changes(1, directions(3)))
    assert (unmade.is_made, unmade.dimension) == (True, DIMENSION)
    assert (unmade.deployment["cloud"], unmade.deployment["region"]) == (cloud, region)
    assert (search.upto, found(search)) == (1, [0, 1, 2])
    assert [path for _, path in unmade.seen].count("/indexes") == 1
    assert len([each for each in caplog.records if f"was made in {environment}" in each.getMessage()]) == 1


def test_an_index_that_another_process_makes_at_once_is_taken(
    unmade: PineconeService, opened: Callable[..., PineconeSearch]
) -> None:
    search = opened({"api_key": KEY, "index_name": unmade.name, "environment": "us-east-1-aws"})
    assert search.upto == 0
    unmade.is_made, unmade.dimension = True, DIMENSION
    unmade.trouble(Answer(404, {"error": {"code": "NOT_FOUND", "message": "not found"}, "status": 404}), times=2)
    search.apply(changes(1, directions(3)))
    assert ("POST", "/indexes") in unmade.seen
    assert found(search) == [0, 1, 2]


@pytest.mark.parametrize("environment", ["", "aws", "us-east-1", "us-east-1-moon"])
def test_an_environment_without_region_or_cloud_makes_no_index(
    unmade: PineconeService, opened: Callable[..., PineconeSearch], environment: str
) -> None:
    search = opened({"api_key": KEY, "index_name": unmade.name, "environment": environment})
    with pytest.raises(StorageError, match=r"make it there, or let pinecone\.environment name a region"):
        search.apply(changes(1, directions(3)))
    assert not unmade.is_made


def test_a_host_that_is_given_is_never_made(unmade: PineconeService, opened: Callable[..., PineconeSearch]) -> None:
    search = opened({"api_key": KEY, "host": unmade.host, "index_name": unmade.name, "environment": "us-east-1-aws"})
    with pytest.raises(StorageError, match="not found"):
        _ = search.upto
    assert ("POST", "/indexes") not in unmade.seen


def test_the_published_block_needs_no_index_in_the_account(
    unmade: PineconeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    path = tmp_path / "alma.yaml"
    path.write_text(
        "alma:\n  project_id: shop\n  storage: pinecone\n  embedding_provider: hash\n"
        '  pinecone: {api_key: "${PINECONE_API_KEY}", environment: us-east-1-aws, index_name: alma-memories}\n'
    )
    with ALMA.from_config(path) as alma:
        alma.add_domain_knowledge(agent="helena", domain="auth", fact="Tokens live for a day")
        assert alma.retrieve(QUESTION, "helena").total_items == 1
        assert (unmade.dimension, len(unmade.entries())) == (384, 1)


def test_too_many_requests_are_repeated_when_the_service_says(
    process: Callable[[], PineconeSearch], service: PineconeService
) -> None:
    search = process()
    service.trouble(Answer(429, {"message": "too many requests"}, {"Retry-After": "0"}), times=2)
    search.apply(changes(1, directions(2)))
    assert found(search) == [0, 1]


def test_a_wrong_key_is_an_error_that_does_not_show_it(opened: Callable[..., PineconeSearch], options: dict[str, object]) -> None:
    search = opened({**options, "api_key": "pcsk_another_key"})
    with pytest.raises(StorageError, match="Invalid API Key") as caught:
        _ = search.upto
    assert "another_key" not in str(caught.value)


def test_no_key_is_an_error_at_once(opened: Callable[..., PineconeSearch]) -> None:
    with pytest.raises(ConfigurationError, match=r"pinecone\.api_key"):
        opened({"host": "index.example"})


@pytest.fixture
def memory() -> Iterator[PineconeService]:
    """An index for the vectors of hashed words."""
    made = PineconeService(384)
    made.start()
    yield made
    made.stop()
    assert made.mistakes == []


@pytest.fixture
def configured(memory: PineconeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The published block, with the host of the server."""
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    path = tmp_path / "alma.yaml"
    path.write_text(
        "alma:\n  project_id: shop\n  storage: pinecone\n  embedding_provider: hash\n"
        '  pinecone: {api_key: "${PINECONE_API_KEY}", environment: us-east-1-aws, index_name: alma-memories, '
        f'host: "{memory.host}"}}\n'
    )
    return path


def test_a_configuration_keeps_records_in_sqlite_and_vectors_in_pinecone(configured: Path, memory: PineconeService) -> None:
    with ALMA.from_config(configured) as alma:
        fact = alma.add_domain_knowledge(agent="helena", domain="auth", fact="Tokens live for a day")
        assert [item.memory.id for item in alma.retrieve(QUESTION, "helena").recalled] == [fact.id]
        assert len(memory.entries()) == 1
    with ALMA.from_config(configured) as alma:
        alma.forget(memory_ids=[fact.id])
        assert alma.retrieve(QUESTION, "helena").total_items == 0
    assert memory.entries() == {}


def test_a_purged_memory_is_gone_there_at_once(configured: Path, memory: PineconeService) -> None:
    with ALMA.from_config(configured) as alma:
        facts = [alma.add_domain_knowledge("helena", "auth", f"Tokens of {place} live for a day") for place in ("Oslo", "Lima")]
        assert alma.retrieve(QUESTION, "helena").total_items == 2
        alma.purge([facts[0].id])
        assert len(memory.entries()) == 1


def test_an_outage_loses_nothing_and_is_caught_up_with(
    configured: Path, memory: PineconeService, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinecone._internal.http_client._retry_sleep", lambda _: None)
    monkeypatch.setattr("alma.vectors.composed.RETRY_SECONDS", 0.0)
    caplog.set_level(logging.WARNING, logger="alma")
    with ALMA.from_config(configured) as alma:
        alma.add_domain_knowledge("helena", "auth", "Tokens live for a day")
        assert alma.retrieve(QUESTION, "helena").total_items == 1
        memory.stop()
        alma.add_domain_knowledge("helena", "auth", "Tokens of guests live for an hour")
        for _ in range(2):
            assert alma.retrieve(QUESTION, "helena").total_items == 2
        memory.start()
        assert alma.retrieve(QUESTION, "helena").total_items == 2
        assert len(memory.entries()) == 2
    told = [record.getMessage() for record in caplog.records]
    assert len([text for text in told if "does not answer" in text]) == 1
    assert len([text for text in told if "answers again" in text]) == 1
    assert not [text for text in told if KEY in text]


def test_a_configuration_without_its_key_says_which_setting_is_missing(configured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PINECONE_API_KEY")
    with pytest.raises(ConfigurationError, match=r"pinecone\.api_key"), ALMA.from_config(configured):
        pass
