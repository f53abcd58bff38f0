"""What is given wrongly is an error at once, not at the first run."""

from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, AlmaError, AsyncALMA, ConfigurationError, CustomMemoryType, MemoryType, StorageError
from alma_llamaindex import (
    ALMALearner,
    ALMAMemory,
    ALMAMemoryBlock,
    ALMARetriever,
    ALMAToolSpec,
    ALMAUsagePostprocessor,
    instrument_alma,
)
from alma_llamaindex.handler import LEARNERS

pytestmark = pytest.mark.any_version

FOR_AN_AGENT = [ALMAMemory.from_defaults, ALMAMemoryBlock, ALMARetriever, ALMAToolSpec, ALMAUsagePostprocessor]


def for_learner(alma: Any, agent: object) -> object:
    return instrument_alma(alma)


@pytest.mark.parametrize("make", [*FOR_AN_AGENT, for_learner])
def test_what_is_no_open_alma_is_refused(make: Any, tmp_path: Path) -> None:
    with pytest.raises(AlmaError, match="alma must be an open ALMA, not None"):
        make(None, "dev")
    with ALMA.open(tmp_path / "s", project_id="shop", embedding_provider="hash") as closed:
        pass
    with pytest.raises(AlmaError, match="alma must be an open ALMA, not AsyncALMA"):
        make(AsyncALMA(closed), "dev")
    with pytest.raises(StorageError, match="was closed; open ALMA again"):
        make(closed, "dev")
    assert LEARNERS.known() == []


@pytest.mark.parametrize("given", [{"token_limit": 0}, {"session": "one"}])
def test_a_memory_that_llamaindex_refuses_leaves_no_learner(alma: ALMA, given: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        ALMAMemory.from_defaults(alma, "dev", **given)
    assert LEARNERS.known() == []


@pytest.mark.parametrize("make", FOR_AN_AGENT)
@pytest.mark.parametrize("agent", ["", None])
def test_what_names_no_agent_is_refused(alma: ALMA, make: Any, agent: object) -> None:
    with pytest.raises(AlmaError, match="agent"):
        make(alma, agent)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (ALMAMemory.from_defaults, {"max_tokens": -1}),
        (ALMAMemory.from_defaults, {"top_k": 0}),
        (ALMAMemory.from_defaults, {"user_id": ""}),
        (ALMAMemory.from_defaults, {"evaluator": "success"}),
        (ALMAMemory.from_defaults, {"evaluator": bool, "learn": False}),
        (ALMAMemory.from_defaults, {"tokenizer_fn": "tiktoken"}),
        (ALMAMemoryBlock, {"max_tokens": 0.5}),
        (ALMAMemoryBlock, {"inject": "everywhere"}),
        (ALMAMemoryBlock, {"lock_timeout": -1}),
        (ALMARetriever, {"strip_tags": "yes"}),
        (ALMAToolSpec, {"prefix": "a b"}),
        (ALMAMemoryBlock, {"top_k": -1}),
        (ALMARetriever, {"top_k": 0}),
        (ALMARetriever, {"user_id": ""}),
        (ALMARetriever, {"agents": "ops"}),
        (ALMARetriever, {"kinds": "heuristic"}),
        (ALMARetriever, {"since": "yesterday"}),
        (ALMARetriever, {"until": "today"}),
        (ALMARetriever, {"kinds": ["heuristic", "heuristics"]}),
        (ALMARetriever, {"min_score": "high"}),
        (ALMARetriever, {"min_score": float("nan")}),
        (ALMAToolSpec, {"top_k": True}),
        (ALMAToolSpec, {"user_id": " "}),
        (lambda alma, agent, **given: ALMALearner(alma, **given), {"agents": "dev"}),
        (lambda alma, agent, **given: ALMALearner(alma, **given), {"evaluator": "success"}),
        (lambda alma, agent, **given: ALMALearner(alma, **given), {"redact": "all"}),
        (lambda alma, agent, **given: ALMALearner(alma, **given), {"tool_outcome": "good"}),
    ],
)
def test_an_option_that_cannot_be_is_named(alma: ALMA, make: Any, given: dict[str, Any]) -> None:
    with pytest.raises(AlmaError, match=next(iter(given))):
        make(alma, "dev", **given)
    assert LEARNERS.known() == []


@pytest.mark.parametrize("make", FOR_AN_AGENT)
def test_an_option_that_there_is_not_is_named(alma: ALMA, make: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="topk"):
        make(alma, "dev", topk=3)
    assert LEARNERS.known() == []


def test_a_kind_that_there_is_not_is_told_with_those_that_there_are(alma: ALMA) -> None:
    alma.register_memory_type(CustomMemoryType("runbook", {"about": str}, ["about"]))
    with pytest.raises(AlmaError, match=r"'heuristics', which is no kind in project 'shop'; there are heuristic, .*, runbook"):
        ALMARetriever(alma, "dev", kinds=["heuristics"])
    ALMARetriever(alma, "dev", kinds=["runbook", MemoryType.OUTCOME])


@pytest.mark.parametrize(
    "given", [(("alma",), {}), ((), {"alma": None, "agent": "dev"}), ((), {}), ((), {"token_limit": 9, "agent": "dev"})]
)
def test_the_constructor_of_the_drop_in_says_how_one_is_made(given: tuple[tuple[str, ...], dict[str, Any]]) -> None:
    with pytest.raises(ConfigurationError, match=r"make it with ALMAMemory\.from_defaults"):
        ALMAMemory(*given[0], **given[1])
