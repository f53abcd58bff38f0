"""alma-llamaindex in an environment of its own: what is promised by name, and nothing else is needed."""

import importlib.util
import os
import subprocess
import sys
from importlib.metadata import requires

import alma_llamaindex
from relied_parts import check_warned_once


def test_no_other_adapter_is_in_this_environment() -> None:
    others = {"alma_langchain", "alma_llamaindex", "alma_crewai"} - {alma_llamaindex.__name__}
    assert [name for name in sorted(others) if importlib.util.find_spec(name)] == []


def test_it_needs_the_core_the_kit_and_llama_index_alone() -> None:
    needed = {requirement.split(">")[0].split("<")[0] for requirement in requires("alma-llamaindex") or []}
    assert needed == {"alma-core", "alma-integration", "llama-index-core", "llama-index-instrumentation", "llama-index-workflows"}


def test_the_public_names_are_exactly_these() -> None:
    assert set(alma_llamaindex.__all__) == {
        "ALMALearner",
        "ALMAMemory",
        "ALMAMemoryBlock",
        "ALMARetriever",
        "ALMAToolSpec",
        "ALMAUsagePostprocessor",
        "AgentRun",
        "RunReport",
        "RunView",
        "ToolStep",
        "ToolUse",
        "__version__",
        "alma_run",
        "instrument_alma",
        "named_call",
        "recorded",
        "strategy_of",
        "tools_succeeded",
    }
    assert all(hasattr(alma_llamaindex, name) for name in alma_llamaindex.__all__)


def test_importing_it_installs_nothing() -> None:
    code = (
        "import alma_llamaindex, llama_index.core.instrumentation as i; "
        "print([type(h).__name__ for h in i.get_dispatcher().span_handlers])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}, check=True)
    assert done.stdout.strip() == "['NullSpanHandler']"


def test_no_key_of_a_hosted_model_is_set() -> None:
    assert "OPENAI_API_KEY" not in os.environ


def test_a_llama_index_that_changed_what_is_relied_on_is_warned_of_once_and_the_tested_one_never() -> None:
    check_warned_once(
        "from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent",
        "del BaseWorkflowAgent.call_tool",
        "alma_llamaindex.spans",
        "FunctionAgent.call_tool",
    )
