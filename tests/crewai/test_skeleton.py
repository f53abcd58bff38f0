"""alma-crewai in an environment of its own. The adapter is not built yet; this holds what the package does promise."""

import importlib.util
from importlib.metadata import version

import alma_crewai


def test_the_package_and_its_module_have_one_version() -> None:
    assert alma_crewai.__version__ == version("alma-crewai")


def test_the_core_has_the_same_version() -> None:
    assert version("alma-core") == alma_crewai.__version__


def test_no_other_adapter_is_in_this_environment() -> None:
    others = {"alma_langchain", "alma_llamaindex", "alma_crewai"} - {alma_crewai.__name__}
    assert [name for name in sorted(others) if importlib.util.find_spec(name)] == []
