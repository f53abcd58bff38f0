"""alma-langchain as a package: what it promises by name, what it needs, and what is said where something is missing."""

import importlib.util
import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

import alma_langchain
from relied_parts import check_warned_once

HIDDEN = """
import sys
for name in {hidden!r}:
    sys.modules[name] = None
"""

ASKING = """
try:
    from alma_langchain import ALMAMiddleware
except ImportError as error:
    print(error)
"""


def python(code: str, *, hidden: tuple[str, ...] = ()) -> str:
    """What a new process prints, in which some packages cannot be imported."""
    source = HIDDEN.format(hidden=hidden) + code
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env=os.environ, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_other_adapter_is_in_this_environment() -> None:
    assert [name for name in ("alma_llamaindex", "alma_crewai") if importlib.util.find_spec(name)] == []


def test_the_base_needs_the_core_and_langchain_core_alone() -> None:
    needed = requires("alma-langchain") or []
    names = {each: re.split(r"[<>=; ]", each)[0] for each in needed}
    assert sorted(name for each, name in names.items() if "extra ==" not in each) == [
        "alma-core",
        "alma-integration",
        "langchain-core",
    ]
    assert sorted(name for each, name in names.items() if "extra ==" in each) == ["langchain", "langchain-classic", "langgraph"]


def test_every_promised_name_is_there() -> None:
    assert set(alma_langchain.__all__) <= set(dir(alma_langchain))
    for name in alma_langchain.__all__:
        assert getattr(alma_langchain, name).__doc__, name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = alma_langchain.no_such_name


def test_importing_it_loads_no_framework() -> None:
    loaded = python("import alma_langchain; print([n for n in sys.modules if n.split('.')[0].startswith('lang')])")
    assert loaded == "[]"


def test_what_is_not_installed_is_named() -> None:
    """Without extras; `alone.py` tries each in an environment of its own."""
    hidden = ("langchain", "langgraph", "langchain_classic")
    said = python("from alma_langchain import ALMAMemory, ALMACallbackHandler\n" + ASKING, hidden=hidden)
    assert said == "ALMAMiddleware needs what is not installed; install alma-langchain[agents]"


def test_an_alma_that_is_none_and_options_that_do_not_exist_are_errors_at_once(tmp_path: Path) -> None:
    from alma import ALMA, AsyncALMA, ConfigurationError, ScopeViolationError
    from alma_langchain import ALMACallbackHandler, ALMAMemory, ALMAMiddleware, ALMARetriever

    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash") as alma:
        with pytest.raises(ConfigurationError, match="must be an open ALMA, not AsyncALMA"):
            ALMAMiddleware(AsyncALMA(alma), agent="dev")  # type: ignore[arg-type]
        with pytest.raises(ScopeViolationError, match="agent is missing"):
            ALMACallbackHandler(alma, agent="")
        with pytest.raises(TypeError, match="agent"):
            ALMAMiddleware(alma)  # type: ignore[call-arg]
        for make in (ALMAMiddleware, ALMACallbackHandler, ALMAMemory):
            with pytest.raises(ConfigurationError, match="agent must be a name or a function, not None"):
                make(alma, agent=None)
        with pytest.raises(ValueError, match="agent must be a name or a function, not None"):
            ALMARetriever(alma=alma, agent=None)
        with pytest.raises(TypeError, match="topk"):
            ALMAMiddleware(alma, agent="dev", topk=3)  # type: ignore[call-arg]
        with pytest.raises(ConfigurationError, match="inject is True"):
            ALMAMiddleware(alma, agent="dev", inject=True)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="on_error is 'ignore'"):
            ALMAMemory(alma, agent="dev", on_error="ignore")
        with pytest.raises(ValueError, match="memory_kye"):
            ALMAMemory(alma, agent="dev", memory_kye="x")


def test_a_langgraph_that_changed_what_is_relied_on_is_warned_of_once_and_the_tested_one_never() -> None:
    check_warned_once(
        "import langgraph.pregel._loop as changed",
        "del changed.PregelLoop.accept_push",
        "alma_langchain.middleware",
        "PregelLoop.accept_push",
    )
