"""alma-mcp in an environment of its own, and the few lines in the core that load it."""

import importlib.util
import subprocess
import sys
from importlib.metadata import version

import pytest

import alma.mcp
import alma_mcp
from alma.errors import MissingDependencyError, install_line


def test_the_package_and_its_module_have_one_version() -> None:
    assert alma_mcp.__version__ == version("alma-mcp") == version("alma-core")


def test_no_adapter_is_in_this_environment() -> None:
    others = {"alma_langchain", "alma_llamaindex", "alma_crewai"}
    assert [name for name in sorted(others) if importlib.util.find_spec(name)] == []


def test_every_public_name_is_there() -> None:
    assert [name for name in alma_mcp.__all__ if not hasattr(alma_mcp, name)] == []


def test_the_names_of_the_package_are_names_of_alma_mcp() -> None:
    assert alma.mcp.create_server is alma_mcp.create_server
    with pytest.raises(AttributeError, match="no attribute 'creat_server'"):
        alma.mcp.creat_server  # noqa: B018


def test_without_the_package_python_m_alma_mcp_says_what_to_install() -> None:
    script = "import sys; sys.modules['alma_mcp'] = None; from alma.mcp import main; main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == f"alma: the MCP server is not installed: {install_line('mcp')}\n"


def test_without_the_package_its_names_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "alma_mcp", None)
    with pytest.raises(MissingDependencyError, match=r"alma-core\[mcp\]"):
        alma.mcp.create_server  # noqa: B018


def test_the_server_is_ready_to_answer_before_the_core_is_loaded() -> None:
    script = (
        "import sys; from alma_mcp import running; running.create_server(running.Opening(None))\n"
        "heavy = {'numpy', 'sqlmodel', 'sqlalchemy', 'faiss', 'onnxruntime', 'alma.memory.alma'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_help_loads_neither_the_core_nor_the_protocol() -> None:
    script = (
        "import sys; from alma_mcp import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(f'loaded {loaded}' if (loaded := {'mcp', 'pydantic', 'sqlmodel'} & set(sys.modules)) else 0)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "--profile" in ended.stdout
