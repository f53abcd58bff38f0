"""alma-langchain as a package: what it promises by name, what it needs, and what is said where something is missing."""

import importlib.util
import os
import re
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import alma_langchain

HIDDEN = """
import sys
for name in {hidden!r}:
    sys.modules[name] = None
"""


def python(code: str, *, hidden: tuple[str, ...] = (), folder: Path | None = None) -> str:
    """What a new process prints, in which some packages cannot be imported."""
    source = HIDDEN.format(hidden=hidden) + code
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, cwd=folder, env=os.environ, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_its_module_and_the_core_have_one_version() -> None:
    assert alma_langchain.__version__ == version("alma-langchain") == version("alma-core")


def test_no_other_adapter_is_in_this_environment() -> None:
    assert [name for name in ("alma_llamaindex", "alma_crewai") if importlib.util.find_spec(name)] == []


def test_the_base_needs_the_core_and_langchain_core_alone() -> None:
    needed = requires("alma-langchain") or []
    names = {each: re.split(r"[<>=; ]", each)[0] for each in needed}
    assert sorted(name for each, name in names.items() if "extra ==" not in each) == ["alma-core", "langchain-core"]
    assert sorted(name for each, name in names.items() if "extra ==" in each) == ["langchain", "langchain-classic"]


def test_every_promised_name_is_there() -> None:
    assert set(alma_langchain.__all__) <= set(dir(alma_langchain))
    for name in alma_langchain.__all__:
        assert getattr(alma_langchain, name).__doc__, name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = alma_langchain.no_such_name


def test_importing_it_loads_no_framework() -> None:
    loaded = python("import alma_langchain; print([n for n in sys.modules if n.split('.')[0].startswith('lang')])")
    assert loaded == "[]"


USING = """
from alma import ALMA
from alma_langchain import ALMACallbackHandler, ALMAMemory, ALMARetriever, AsyncALMACallbackHandler, create_alma_tools
with ALMA.open("store", project_id="p", embedding_provider="hash") as alma:
    memory = ALMAMemory(alma, agent="dev", memory_key="m")
    handler, retriever, tools = memory.callback_handler(), memory.as_retriever(k=2), create_alma_tools(alma, "dev")
    shown = memory.load_memory_variables({"input": "Deploy"})
    memory.save_context({"input": "Deploy", **shown}, {"output": "Done."})
    print(type(memory).__mro__[1].__name__, alma.recent_episodes()[0].outcome, retriever.k, retriever.invoke("Deploy"))
    try:
        memory.as_middleware()
        print("middleware")
    except ImportError as error:
        print(error)
"""
OUTCOME = "unverified 2 [Document"


@pytest.mark.parametrize(
    ("hidden", "base", "said"),
    [
        (("langchain", "langgraph", "langchain_classic"), "Serializable", "install alma-langchain[agents]"),
        (("langchain_classic",), "Serializable", "middleware"),
        (("langchain", "langgraph"), "BaseMemory", "install alma-langchain[agents]"),
    ],
    ids=["core only", "agents", "classic"],
)
def test_what_is_not_installed_is_not_needed_or_is_named(tmp_path: Path, hidden: tuple[str, ...], base: str, said: str) -> None:
    first, last = python(USING, hidden=hidden, folder=tmp_path).splitlines()
    assert first.startswith(f"{base} {OUTCOME}")
    assert last.endswith(said)


def test_an_alma_that_is_none_and_options_that_do_not_exist_are_errors_at_once(tmp_path: Path) -> None:
    from alma import ALMA, AsyncALMA, ConfigurationError, ScopeViolationError
    from alma_langchain import ALMACallbackHandler, ALMAMemory, ALMAMiddleware

    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash") as alma:
        with pytest.raises(ConfigurationError, match="must be an open ALMA, not AsyncALMA"):
            ALMAMiddleware(AsyncALMA(alma), agent="dev")  # type: ignore[arg-type]
        with pytest.raises(ScopeViolationError, match="agent is missing"):
            ALMACallbackHandler(alma, agent="")
        with pytest.raises(TypeError, match="agent"):
            ALMAMiddleware(alma)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="topk"):
            ALMAMiddleware(alma, agent="dev", topk=3)  # type: ignore[call-arg]
        with pytest.raises(ConfigurationError, match="on_error is 'ignore'"):
            ALMAMemory(alma, agent="dev", on_error="ignore")
        with pytest.raises(ValueError, match="memory_kye"):
            ALMAMemory(alma, agent="dev", memory_kye="x")
