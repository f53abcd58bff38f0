"""Embedders over HTTP, against a server on this machine that speaks the endpoint."""

import logging
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from alma import ALMA
from alma.embedding import AzureOpenAIEmbedder, HashEmbedder, OpenAIEmbedder, create_embedder, embedder_for
from alma.embedding.scale import SENTENCES
from alma.errors import ConfigurationError, EmbeddingError
from alma.testing import EmbedderContract
from alma_learning.background import SENTENCES as BACKGROUND
from embedding_server import (
    DIMENSION,
    Behaviour,
    EmbeddingServer,
    backwards,
    changed,
    embedding_server,
    hang_up,
    says,
    silence,
    status,
)

KEY = "sk-verysecret-0123456789"
TEXTS = ["Deploy the auth service", "Roll back the release", "Test the login form", "Why did the backup fail?", "Rename a column"]

Open = Callable[..., OpenAIEmbedder]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def slept() -> list[float]:
    """The pauses that an embedder would have made."""
    return []


@pytest.fixture
def connect(server: EmbeddingServer, slept: list[float]) -> Iterator[Open]:
    opened: list[OpenAIEmbedder] = []

    def make(**settings: Any) -> OpenAIEmbedder:
        given = {"model": "served", "base_url": server.url, "api_key": KEY, "dimension": DIMENSION, "timeout": 30.0}
        opened.append(OpenAIEmbedder(**{**given, "sleep": slept.append, "chance": lambda: 1.0, **settings}))
        return opened[-1]

    yield make
    for embedder in opened:
        embedder.close()


def expected(texts: list[str]) -> "np.ndarray[Any, np.dtype[np.float32]]":
    return HashEmbedder(DIMENSION).embed(texts)


def test_texts_become_unit_vectors_in_their_order(connect: Open, server: EmbeddingServer) -> None:
    vectors = connect().embed(TEXTS)
    assert (vectors.dtype, vectors.shape) == (np.float32, (5, DIMENSION))
    np.testing.assert_allclose(vectors, expected(TEXTS), atol=1e-6)
    (request,) = server.requests
    assert (request.path, request.texts) == ("/v1/embeddings", TEXTS)
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "served", "input": TEXTS}


def test_vectors_are_put_in_order_by_their_index(connect: Open, server: EmbeddingServer) -> None:
    server.script = [backwards]
    np.testing.assert_allclose(connect().embed(TEXTS), expected(TEXTS), atol=1e-6)


def test_many_texts_go_in_batches(connect: Open, server: EmbeddingServer) -> None:
    texts = [f"task number {number}" for number in range(10)]
    np.testing.assert_allclose(connect(batch_size=4).embed(texts), expected(texts), atol=1e-6)
    assert [len(request.texts) for request in server.requests] == [4, 4, 2]


def test_no_texts_need_no_request(connect: Open, server: EmbeddingServer) -> None:
    assert connect().embed([]).shape == (0, DIMENSION)
    assert server.requests == []


def test_a_blank_text_is_sent_as_a_full_stop_and_a_long_one_is_cut(connect: Open, server: EmbeddingServer) -> None:
    connect(max_characters=10).embed(["", " \n", "x" * 11])
    assert server.requests[0].texts == [".", ".", "x" * 10]


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503])
def test_a_passing_trouble_is_tried_again_with_growing_pauses(
    connect: Open, server: EmbeddingServer, slept: list[float], code: int
) -> None:
    server.script = [status(code)] * 3
    np.testing.assert_allclose(connect().embed(TEXTS), expected(TEXTS), atol=1e-6)
    assert (len(server.requests), slept) == (4, [0.5, 1.0, 2.0])


def test_pauses_double_up_to_half_a_minute(connect: Open, server: EmbeddingServer, slept: list[float]) -> None:
    server.script = [status(500)] * 9
    connect(max_retries=9).embed(TEXTS)
    assert slept == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize(("chance", "pauses"), [(0.0, [0.25, 0.5]), (0.5, [0.375, 0.75]), (1.0, [0.5, 1.0])])
def test_chance_takes_off_up_to_half_of_a_pause(
    connect: Open, server: EmbeddingServer, slept: list[float], chance: float, pauses: list[float]
) -> None:
    server.script = [status(500)] * 2
    connect(chance=lambda: chance).embed(TEXTS)
    assert slept == pauses


def test_trouble_that_does_not_pass_is_an_error_after_so_many_tries(
    connect: Open, server: EmbeddingServer, slept: list[float]
) -> None:
    server.script = [status(503, "overloaded")] * 9
    with pytest.raises(EmbeddingError, match=rf"openai/served at http://127.0.0.1:{server.port}.*503, overloaded \(3 tries\)"):
        connect(max_retries=2).embed(TEXTS)
    assert (len(server.requests), len(slept)) == (3, 2)


@pytest.mark.parametrize(
    ("headers", "asked"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "20.5"}, 20.5),
        ({"Retry_After": "120"}, 120.0),
        ({"Retry_After_Ms": "1500", "Retry_After": "9"}, 1.5),
        ({"Retry_After": "Sun, 01 Mar 2020 11:00:00 GMT"}, 0.0),
    ],
)
def test_a_server_that_asks_for_a_pause_gets_it(
    connect: Open, server: EmbeddingServer, slept: list[float], headers: dict[str, str], asked: float
) -> None:
    server.script = [status(429, **headers)]
    connect().embed(TEXTS)
    assert asked <= slept[0] <= asked + 0.1


@pytest.mark.parametrize("zone", ["GMT", "-0000"])
def test_a_server_may_ask_for_a_pause_until_a_date(connect: Open, server: EmbeddingServer, slept: list[float], zone: str) -> None:
    until = datetime.now(UTC) + timedelta(seconds=60)
    server.script = [status(429, Retry_After=f"{until:%a, %d %b %Y %H:%M:%S} {zone}")]
    connect().embed(TEXTS)
    assert 40 <= slept[0] <= 61


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry_After": ""},
        {"Retry_After": "soon", "Retry_After_Ms": "now"},
        *({"Retry_After": odd} for odd in ("-3", "nan", "inf")),
    ],
)
def test_a_pause_that_cannot_be_read_is_the_usual_one(
    connect: Open, server: EmbeddingServer, slept: list[float], headers: dict[str, str]
) -> None:
    server.script = [status(429, **headers)]
    connect().embed(TEXTS)
    assert slept == [0.5]


def test_a_server_that_asks_for_an_hour_is_told_of_at_once(connect: Open, server: EmbeddingServer, slept: list[float]) -> None:
    server.script = [status(429, "daily limit", Retry_After="3600")]
    with pytest.raises(EmbeddingError, match="429, daily limit"):
        connect().embed(TEXTS)
    assert slept == []


@pytest.mark.parametrize("code", [301, 400, 404, 413, 422])
def test_what_the_server_will_not_take_is_not_sent_twice(connect: Open, server: EmbeddingServer, code: int) -> None:
    server.script = [status(code, "no such model")]
    with pytest.raises(EmbeddingError, match=f"status {code}, no such model"):
        connect().embed(TEXTS)
    assert len(server.requests) == 1


def test_an_account_without_credit_is_not_asked_again(connect: Open, server: EmbeddingServer) -> None:
    server.script = [status(429, "You exceeded your quota", error_code="insufficient_quota")]
    with pytest.raises(EmbeddingError, match="quota"):
        connect().embed(TEXTS)
    assert len(server.requests) == 1


def test_a_server_that_keeps_silent_is_given_up(connect: Open, server: EmbeddingServer, slept: list[float]) -> None:
    server.script = [silence, silence]
    with pytest.raises(EmbeddingError, match=r"no answer in time \(ReadTimeout\) \(2 tries\)"):
        connect(timeout=0.05, max_retries=1).embed(TEXTS)
    assert len(slept) == 1


@pytest.mark.parametrize("trouble", [silence, hang_up])
def test_a_lost_answer_is_asked_for_again(connect: Open, server: EmbeddingServer, trouble: Behaviour) -> None:
    server.script = [trouble]
    np.testing.assert_allclose(connect(timeout=0.2).embed(TEXTS), expected(TEXTS), atol=1e-6)
    assert len(server.requests) == 2


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_server_that_is_not_there_is_an_error(connect: Open, slept: list[float]) -> None:
    with pytest.raises(EmbeddingError, match=r"no connection \(ConnectError.*\(3 tries\)"):
        connect(base_url=f"http://127.0.0.1:{free_port()}/v1", max_retries=2).embed(TEXTS)
    assert slept == [0.5, 1.0]


def test_a_server_that_starts_slowly_is_waited_for(connect: Open) -> None:
    late = EmbeddingServer(port=free_port())
    pauses: list[float] = []
    running: list[Any] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            running.append(late.start())

    embedder = connect(base_url=late.url, sleep=sleep)
    np.testing.assert_allclose(embedder.embed(TEXTS), expected(TEXTS), atol=1e-6)
    assert len(pauses) == 3
    embedder.close()
    running[0].shutdown()
    running[0].server_close()


NONSENSE: dict[str, tuple[Behaviour, str]] = {
    "no JSON": (says(b"<html>hello</html>"), "Invalid JSON"),
    "half of JSON": (says(b'{"data": [{"index": 0'), "Invalid JSON"),
    "nothing": (says(b""), "Invalid JSON"),
    "a list": (says(b"[]"), "not JSON with vectors in `data`"),
    "no data": (says(b'{"object": "list"}'), "data Field required"),
    "bytes that are no text": (says(b"\xff\xfe\x00"), "Invalid JSON"),
    "data of a wrong kind": (says(b'{"data": {"0": [1]}}'), "not JSON with vectors in `data`"),
    "numbers instead of objects": (changed(lambda _: [1, 2, 3, 4, 5]), "not JSON with vectors in `data`"),
    "too few": (changed(lambda data: data[:4]), "4 vectors for 5 texts"),
    "too many": (changed(lambda data: [*data, data[0]]), "6 vectors for 5 texts"),
    "one twice": (changed(lambda data: data[3].update(index=2)), "not numbered from 0"),
    "an index beyond": (changed(lambda data: data[4].update(index=5)), "not numbered from 0"),
    "no index": (changed(lambda data: data[0].update(index=None)), r"data\.0\.index Input should be a valid integer"),
    "an index that is text": (changed(lambda data: data[0].update(index="0")), r"data\.0\.index Input should be a valid integer"),
    "another dimension": (changed(lambda data: data[1]["embedding"].append(0.5)), "17 dimensions, but 16 are expected"),
    "no vector": (changed(lambda data: data[1].update(embedding=None)), "data.1.embedding"),
    "text in a vector": (changed(lambda data: data[1].update(embedding=["0.1"] * DIMENSION)), "data.1.embedding"),
    "NaN": (changed(lambda data: data[1].update(embedding=[float("nan")] * DIMENSION)), "not finite"),
    "infinity": (changed(lambda data: data[1].update(embedding=[float("inf")] * DIMENSION)), "not finite"),
    "a whole number without end": (changed(lambda data: data[1].update(embedding=[10**400] * DIMENSION)), "not finite"),
    "zeros": (changed(lambda data: data[1].update(embedding=[0] * DIMENSION)), "zeros"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_an_answer_that_is_nonsense_is_an_error_and_not_asked_for_again(
    connect: Open, server: EmbeddingServer, name: str
) -> None:
    behaviour, told = NONSENSE[name]
    server.script = [behaviour]
    with pytest.raises(EmbeddingError, match=told):
        connect().embed(TEXTS)
    assert len(server.requests) == 1


def test_half_a_surrogate_pair_is_sent_as_json_can_say_it(connect: Open, server: EmbeddingServer) -> None:
    server.script = [status(400, "invalid text")]
    with pytest.raises(EmbeddingError, match="invalid text"):
        connect().embed(["broken \ud800"])
    assert server.requests[0].texts == ["broken \ud800"]


TROUBLES: dict[str, Behaviour] = {
    "refused": status(401, f"Incorrect API key provided: {KEY}"),
    "forbidden": status(403, f"{KEY} may not"),
    "told in the error": status(400, f"the key {KEY} is odd"),
    "told at last": status(500, f"the key {KEY} is odd"),
    "nonsense": says(b"<html>"),
    "lost": hang_up,
    "silent": silence,
}


@pytest.mark.parametrize("name", TROUBLES)
def test_the_key_is_in_no_error_log_or_representation(
    connect: Open, server: EmbeddingServer, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script = [TROUBLES[name]]
    embedder = connect(max_retries=0, timeout=0.05)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(TEXTS)
    ours = caught.value.with_traceback(caught.tb.tb_next)  # this test itself knows the key
    shown = "".join(traceback.TracebackException.from_exception(ours, capture_locals=True).format())
    assert "verysecret" not in f"{shown} {caught.value!r} {embedder!r} {vars(embedder)} {embedder.fingerprint!r} {caplog.text}"
    assert caught.value.__cause__ is None or "verysecret" not in repr(vars(caught.value.__cause__))


def test_user_and_password_of_an_address_are_not_shown(connect: Open, server: EmbeddingServer) -> None:
    server.script = [status(400, "no")]
    embedder = connect(base_url=f"http://helena:pw-verysecret@127.0.0.1:{server.port}/v1")
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(TEXTS)
    assert "verysecret" not in f"{caught.value} {embedder!r}"


@pytest.mark.parametrize("key", ["sk-verysecret\nX-Evil: 1", "sk-verysecret\x00", "sk-verysecret \u00e9", "sk very secret"])
def test_a_key_that_is_none_is_refused_without_showing_it(connect: Open, key: str) -> None:
    with pytest.raises(ConfigurationError, match="api_key") as caught:
        connect(api_key=key)
    assert "secret" not in str(caught.value)


def test_space_around_a_key_does_not_count(connect: Open, server: EmbeddingServer) -> None:
    connect(api_key=f" {KEY}\n").embed(TEXTS)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_server_of_ones_own_needs_no_key(connect: Open, server: EmbeddingServer) -> None:
    connect(api_key=None).embed(TEXTS)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, r"needs an api_key.*OPENAI_API_KEY"),
        ({"api_key": "k", "model": "own"}, "dimension of 'own' is not known.*embedding_dim"),
        ({"api_key": "k", "base_url": "localhost:1234"}, "base_url must begin with http"),
        ({"api_key": "k", "base_url": "http://"}, "base_url must begin with http"),
        ({"api_key": "k", "base_url": "http://[::1"}, "base_url is no address"),
        ({"api_key": "k", "batch_size": 0}, "batch_size is 0"),
        ({"api_key": "k", "timeout": float("nan")}, "timeout is nan"),
        ({"api_key": "k", "max_retries": -1}, "max_retries is -1"),
    ],
)
def test_settings_that_cannot_be_are_a_configuration_error(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        OpenAIEmbedder(**settings)


@pytest.mark.parametrize(("model", "length"), [("text-embedding-3-small", 1536), ("text-embedding-3-large", 3072)])
def test_the_dimension_of_openai_s_own_models_is_known(connect: Open, server: EmbeddingServer, model: str, length: int) -> None:
    assert connect(model=model, dimension=None).fingerprint.dimension == length


def test_a_shorter_vector_is_asked_for_where_the_model_can_cut_it(connect: Open, server: EmbeddingServer) -> None:
    assert connect(model="text-embedding-3-small", dimension=32).embed(TEXTS).shape == (5, 32)
    assert server.requests[0].body["dimensions"] == 32


def test_the_fingerprint_tells_the_model_and_the_preparation_and_neither_place_nor_key(connect: Open) -> None:
    one = connect(base_url="http://a.example/v1", api_key="one", batch_size=3)
    other = connect(base_url="http://b.example/v2", api_key="two")
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != connect(model="another").fingerprint
    assert one.fingerprint != connect(max_characters=100).fingerprint


def test_azure_is_asked_by_deployment_version_and_its_own_header(server: EmbeddingServer) -> None:
    place = f"http://127.0.0.1:{server.port}"
    embedder = AzureOpenAIEmbedder(
        endpoint=f"{place}/", deployment="my emb", model="served", api_key=KEY, api_version="2024-10-21", dimension=DIMENSION
    )
    np.testing.assert_allclose(embedder.embed(TEXTS), expected(TEXTS), atol=1e-6)
    embedder.close()
    (request,) = server.requests
    assert request.path == "/openai/deployments/my%20emb/embeddings?api-version=2024-10-21"
    assert request.headers["api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.body == {"input": TEXTS}
    assert KEY not in f"{embedder!r} {vars(embedder)}"


def test_azure_and_openai_give_interchangeable_vectors_for_one_model(connect: Open) -> None:
    azure = AzureOpenAIEmbedder(endpoint="https://x.example", deployment="d", model="served", api_key=KEY, dimension=DIMENSION)
    assert azure.fingerprint == connect().fingerprint


def test_embedders_are_made_by_name_with_their_settings(server: EmbeddingServer) -> None:
    options = {"openai": {"base_url": server.url, "model": "served"}}
    embedder = create_embedder("openai", dimension=DIMENSION, options=options)
    assert embedder.embed(TEXTS).shape == (5, DIMENSION)
    assert embedder_for(embedder.fingerprint, options=options).fingerprint == embedder.fingerprint
    for made in (
        embedder,
        create_embedder("azure", dimension=4, options={"azure": {"endpoint": server.url, "deployment": "d", "api_key": "k"}}),
    ):
        assert isinstance(made, OpenAIEmbedder | AzureOpenAIEmbedder)
        made.close()


@pytest.mark.parametrize("options", [{}, {"azure": {"endpoint": "http://x", "deployment": "d", "api_key": "k", "colour": "red"}}])
def test_an_embedder_without_the_settings_it_needs_names_the_block(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"needs other settings.*block 'azure_openai'"):
        create_embedder("azure", options=options)


def test_a_store_learns_and_recalls_over_http_and_closes_its_connections(server: EmbeddingServer, tmp_path: Any) -> None:
    config = tmp_path / ".alma" / "config.yaml"
    config.parent.mkdir()
    config.write_text(
        f"project_id: shop\nembedding_provider: openai\nembedding_dim: {DIMENSION}\n"
        f"openai: {{base_url: '{server.url}', model: served, api_key: {KEY}}}\n"
    )
    with ALMA.from_config(config) as alma:
        learned = alma.learn("helena", TEXTS[0], "success", "blue-green")
        assert alma.retrieve(TEXTS[0], "helena").ids == [learned.id]
        assert KEY not in repr(alma)
    with ALMA.from_config(config) as alma:
        assert alma.retrieve(TEXTS[0], "helena").ids == [learned.id]
    sent = [request.body["input"] for request in server.requests]
    fixed = [len(SENTENCES), len(BACKGROUND)]
    assert [len(texts) for texts in sent] == [2, *fixed, *fixed]  # what is learned, and fixed sentences once in each process


@pytest.mark.slow
@pytest.mark.parametrize(("name", "missing"), [("openai", "httpx"), ("openai", "tenacity"), ("azure", "httpx")])
def test_without_a_library_the_extra_is_named(name: str, missing: str) -> None:
    program = f"""
import sys
sys.modules[{missing!r}] = None
from alma.embedding import create_embedder
from alma.errors import MissingDependencyError
try:
    create_embedder({name!r})
except MissingDependencyError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f'need {missing}, which is not installed: pip install "alma-core[openai] @ git+URL' in done.stdout, done.stderr


@pytest.mark.slow
def test_without_the_library_sentence_transformers_names_its_extra() -> None:
    program = """
import sys
sys.modules["sentence_transformers"] = None
from alma.embedding import create_embedder
from alma.errors import MissingDependencyError
try:
    create_embedder("sentence-transformers", options={"sentence-transformers": {"model": "x"}})
except MissingDependencyError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert '"alma-core[sentence-transformers] @ git+URL' in done.stdout, done.stderr


class TestOpenAIEmbedder(EmbedderContract):
    """The contract of all embedders, with batches smaller than what it embeds."""

    @pytest.fixture
    def new_embedder(self, connect: Open) -> Open:
        return lambda: connect(batch_size=7)
