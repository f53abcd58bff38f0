"""JSON logs of memory operations, and the watchers that they stand on."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from alma import ALMA, ValidationError
from alma.telemetry import JSONFormatter, Operation, log_operations, watch


@pytest.fixture
def logged() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    stream, logger = io.StringIO(), logging.getLogger("test.operations")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JSONFormatter())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    yield logger, stream
    logger.removeHandler(handler)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_each_operation_is_one_json_object_on_one_line_without_content(alma: ALMA, logged: Any) -> None:
    logger, stream = logged
    stop = log_operations(alma, logger=logger)
    alma.learn("dev", "Deploy\nthe shop", "failure", "rolling")
    alma.retrieve("Deploy the shop", "dev")
    with pytest.raises(ValidationError):
        alma.retrieve("", "dev")
    stop()
    alma.retrieve("Deploy the shop", "dev")

    found = lines(stream)
    assert [line["message"] for line in found] == ["upsert_memory", "search_memory", "search_memory"]
    assert found[0]["alma.verdict"] == "failure"
    assert found[2]["error.type"] == "ValidationError"
    assert all(line["duration_ms"] >= 0 and line["level"] == "INFO" and line["time"].endswith("Z") for line in found)
    assert "shop" not in stream.getvalue().replace('"shop"', "")


def test_content_is_logged_where_it_is_wanted(alma: ALMA, logged: Any) -> None:
    logger, stream = logged
    log_operations(alma, logger=logger, capture_content=True)
    alma.retrieve("Deploy the shop", "dev")
    assert lines(stream)[0]["gen_ai.memory.query.text"] == "Deploy the shop"


def test_an_exception_stays_on_the_line_of_its_record(logged: Any) -> None:
    logger, stream = logged
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logger.exception("it failed")
    (line,) = lines(stream)
    assert "ValueError: two\nlines" in line["exception"]


def test_several_watchers_see_a_call_from_begin_to_end_and_one_may_leave(alma: ALMA) -> None:
    seen: list[str] = []

    def watcher(name: str) -> Any:
        @contextmanager
        def watching(operation: Operation) -> Iterator[None]:
            seen.append(f"{name} {operation.method} {operation.result is None}")
            yield
            seen.append(f"{name} {operation.result is None}")

        return watching

    leave = watch(alma, watcher("a"))
    watch(alma, watcher("b"))
    alma.add_heuristic("dev", "a condition", "a way")
    leave()
    alma.for_project("other").retrieve("a task", "dev")

    assert seen == ["a add_heuristic True", "b add_heuristic True", "b False", "a False", "b retrieve True", "b False"]


def test_the_end_of_an_episode_is_an_operation_with_its_verdict(alma: ALMA) -> None:
    seen: list[Operation] = []

    @contextmanager
    def watching(operation: Operation) -> Iterator[None]:
        yield
        seen.append(operation)

    watch(alma, watching)
    with alma.episode(agent="dev", task="Deploy the shop") as episode:
        episode.succeed("blue-green")

    assert [(operation.name, operation.method) for operation in seen] == [
        ("search_memory", "episode"),
        ("upsert_memory", "episode.end"),
    ]
    assert seen[1].result.outcome.value == "success"
