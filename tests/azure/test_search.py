"""Microsoft's own SDK against a server on loopback that checks every request. No test reaches the service itself."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from azure.core.credentials import AccessToken
from pytest_mock import MockerFixture

from alma import ALMA
from alma.errors import ConfigurationError, StorageError
from alma.protocols import CandidateFactory, VectorsRequest
from alma.testing import CandidateSearchContract, make_vector_changes
from alma_azure import CosmosSearch, open_search
from alma_testing.contracts.candidate_search import DIMENSION, changes, directions, query
from alma_testing.fakes import MockEmbedder
from contract_service import Answer, searches_of
from cosmos_service import KEY, TOKEN, CosmosService

QUESTION = "How long do tokens live?"
TOO_MANY = Answer(
    429, {"code": "429", "message": "Request rate is large"}, {"x-ms-retry-after-ms": "1", "x-ms-substatus": "3200"}
)


@pytest.fixture
def service() -> Iterator[CosmosService]:
    made = CosmosService()
    made.start()
    yield made
    made.stop()
    assert made.mistakes == []


@pytest.fixture
def options(service: CosmosService) -> dict[str, object]:
    return {"endpoint": service.endpoint, "key": KEY}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., CosmosSearch]]:
    with searches_of(tmp_path, open_search) as open_it:
        yield open_it


@pytest.fixture
def search(opened: Callable[..., CosmosSearch], options: dict[str, object]) -> CosmosSearch:
    return opened(options)


class TestCosmosSearch(CandidateSearchContract):
    @pytest.fixture
    def factory(self) -> CandidateFactory:
        return open_search

    @pytest.fixture
    def options(self, service: CosmosService) -> dict[str, object]:
        return {"endpoint": service.endpoint, "key": KEY}


def found(search: CosmosSearch) -> list[int]:
    return search.search(query(), partitions=[0], limit=999).tolist()


def test_more_than_a_page_is_found_and_more_than_a_batch_is_deleted(search: CosmosSearch, service: CosmosService) -> None:
    search.apply(changes(1, directions(250)))
    assert found(search) == list(range(250))
    search.apply(changes(2, removed=range(230)))
    assert found(search) == list(range(230, 250))
    assert len(service.items(f"alma-vectors-{DIMENSION}")) == 20


def test_long_vectors_are_sent_in_batches_that_are_small_enough(
    opened: Callable[..., CosmosSearch], options: dict[str, object], service: CosmosService
) -> None:
    vectors = np.random.default_rng(0).standard_normal((150, 3072)) / 55
    opened(options, 3072).apply(make_vector_changes(1, vectors, dimension=3072))
    assert len(service.items("alma-vectors-3072")) == 150


def test_vectors_of_a_former_embedder_leave_with_the_next_filling(
    search: CosmosSearch, opened: Callable[..., CosmosSearch], options: dict[str, object], service: CosmosService
) -> None:
    search.apply(changes(1, directions(3)))
    other = opened(options, 16)
    other.apply(make_vector_changes(1, np.eye(16)[:2], dimension=16))
    assert service.items(f"alma-vectors-{DIMENSION}") == []
    assert len(service.items("alma-vectors-16")) == 2


def test_another_project_in_the_container_is_left_alone(search: CosmosSearch, options: dict[str, object], tmp_path: Path) -> None:
    other = open_search(VectorsRequest(str(tmp_path), "d1", "blog", MockEmbedder(DIMENSION).fingerprint, options, str))
    other.apply(changes(1, directions(3)))
    search.apply(changes(1, directions(5)))
    search.clear()
    assert other.upto == 1
    assert len(found(other)) == 3
    other.close()


def test_too_many_requests_are_repeated_when_the_service_says(search: CosmosSearch, service: CosmosService) -> None:
    search.apply(changes(1, directions(2)))
    service.trouble(TOO_MANY, times=3)
    search.apply(changes(2, directions(2, seed=1), first=10))
    assert found(search) == [0, 1, 10, 11]


def test_a_service_that_stays_too_busy_is_an_error(search: CosmosSearch, service: CosmosService) -> None:
    search.apply(changes(1, directions(2)))
    service.trouble(TOO_MANY, times=100)
    with pytest.raises(StorageError, match="rate is large"):
        found(search)
    service.troubles.clear()
    assert found(search) == [0, 1]


def test_a_wrong_key_is_an_error_that_does_not_show_it(opened: Callable[..., CosmosSearch], options: dict[str, object]) -> None:
    wrong = "d3Jvbmcga2V5"
    with pytest.raises(StorageError, match="authorization") as caught:
        _ = opened({**options, "key": wrong}).upto
    assert wrong not in str(caught.value)


def test_a_container_is_not_made_where_it_shall_not_be(
    opened: Callable[..., CosmosSearch], options: dict[str, object], service: CosmosService
) -> None:
    with pytest.raises(StorageError, match=r"make it, or set azure\.create_if_not_exists"):
        opened({**options, "create_if_not_exists": "off"}).apply(changes(1, directions(2)))
    assert service.databases == {}


@pytest.mark.parametrize("missing", ["endpoint", "key"])
def test_a_missing_setting_is_an_error_at_once(
    opened: Callable[..., CosmosSearch], options: dict[str, object], missing: str
) -> None:
    with pytest.raises(ConfigurationError, match=rf"azure\.{missing}"):
        opened({**options, missing: None})


@pytest.fixture(
    params=[
        "endpoint: {endpoint}, key: {key}, database: alma-memory, embedding_dim: 384",
        "cosmos_endpoint: {endpoint}, cosmos_key: {key}, database_name: alma-memory, use_managed_identity: false",
    ]
)
def configured(request: pytest.FixtureRequest, service: CosmosService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Either of the published blocks, with the endpoint of the server."""
    monkeypatch.setenv("AZURE_COSMOS_KEY", KEY)
    block = request.param.format(endpoint=f'"{service.endpoint}"', key='"${AZURE_COSMOS_KEY}"')
    path = tmp_path / "alma.yaml"
    path.write_text(f"alma:\n  project_id: shop\n  storage: azure\n  embedding_provider: hash\n  azure: {{{block}}}\n")
    return path


def test_a_configuration_keeps_records_in_sqlite_and_vectors_in_cosmos(configured: Path, service: CosmosService) -> None:
    with ALMA.from_config(configured) as alma:
        fact = alma.add_domain_knowledge(agent="helena", domain="auth", fact="Tokens live for a day")
        assert [item.memory.id for item in alma.retrieve(QUESTION, "helena").recalled] == [fact.id]
        assert len(service.items("alma-vectors-384")) == 1
    with ALMA.from_config(configured) as alma:
        alma.forget(memory_ids=[fact.id])
        assert alma.retrieve(QUESTION, "helena").total_items == 0
    assert service.items("alma-vectors-384") == []


def test_a_purged_memory_is_gone_there_at_once(configured: Path, service: CosmosService) -> None:
    with ALMA.from_config(configured) as alma:
        facts = [alma.add_domain_knowledge("helena", "auth", f"Tokens of {place} live for a day") for place in ("Oslo", "Lima")]
        assert alma.retrieve(QUESTION, "helena").total_items == 2
        alma.purge([facts[0].id])
        assert len(service.items("alma-vectors-384")) == 1


def test_an_outage_loses_nothing_and_is_caught_up_with(
    configured: Path, service: CosmosService, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alma.vectors.composed.RETRY_SECONDS", 0.0)
    caplog.set_level(logging.WARNING, logger="alma")
    with ALMA.from_config(configured) as alma:
        alma.add_domain_knowledge("helena", "auth", "Tokens live for a day")
        assert alma.retrieve(QUESTION, "helena").total_items == 1
        service.stop()
        alma.add_domain_knowledge("helena", "auth", "Tokens of guests live for an hour")
        assert alma.retrieve(QUESTION, "helena").total_items == 2
        service.start()
        assert alma.retrieve(QUESTION, "helena").total_items == 2
        assert len(service.items("alma-vectors-384")) == 2
    told = [record.getMessage() for record in caplog.records]
    assert len([text for text in told if "does not answer" in text]) == 1
    assert len([text for text in told if "answers again" in text]) == 1
    assert not [text for text in told if KEY in text]


class Identity:
    """The credential of whom the SDK finds. It gives a token for the account alone."""

    def __init__(self, token: str) -> None:
        self.scopes: list[str] = []
        self._token = token

    def get_token(self, *scopes: str, **_: object) -> AccessToken:
        self.scopes += scopes
        return AccessToken(self._token, 4102444800)


@pytest.fixture
def by_identity(options: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The options without a key. The SDK sends a token over TLS alone, which the server of this test has not."""
    monkeypatch.setattr("azure.core.pipeline.policies._authentication._enforce_https", lambda _: None)
    return {"endpoint": options["endpoint"], "use_managed_identity": "on"}


def test_a_managed_identity_stands_for_the_key(
    opened: Callable[..., CosmosSearch], by_identity: dict[str, object], mocker: MockerFixture
) -> None:
    identity = Identity(TOKEN)
    made = mocker.patch("alma_azure.search.DefaultAzureCredential", return_value=identity)
    search = opened(by_identity)
    search.apply(changes(1, directions(3)))
    assert found(search) == [0, 1, 2]
    assert made.call_count == 1
    assert set(identity.scopes) == {"http://127.0.0.1/.default"}


def test_an_identity_that_has_no_right_is_an_error(
    opened: Callable[..., CosmosSearch], by_identity: dict[str, object], mocker: MockerFixture
) -> None:
    mocker.patch("alma_azure.search.DefaultAzureCredential", return_value=Identity("of-another"))
    with pytest.raises(StorageError, match="authorization"):
        _ = opened(by_identity).upto


def test_a_key_beside_a_managed_identity_is_an_error(opened: Callable[..., CosmosSearch], options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=r"azure\.key: is given beside use_managed_identity"):
        opened({**options, "use_managed_identity": "on"})


def test_a_configuration_without_its_key_says_which_setting_is_missing(configured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_COSMOS_KEY")
    with pytest.raises(ConfigurationError, match=r"azure\.key"), ALMA.from_config(configured):
        pass
