"""alma-crewai in an environment of its own."""

import importlib.util

import alma_crewai
from relied_parts import check_warned_once


def test_no_other_adapter_is_in_this_environment() -> None:
    others = {"alma_langchain", "alma_llamaindex", "alma_crewai"} - {alma_crewai.__name__}
    assert [name for name in sorted(others) if importlib.util.find_spec(name)] == []


def test_every_public_name_is_there() -> None:
    assert [name for name in alma_crewai.__all__ if not hasattr(alma_crewai, name)] == []


def test_long_term_memory_is_another_name_of_the_memory() -> None:
    assert alma_crewai.ALMALongTermMemory is alma_crewai.ALMAMemory


def test_a_crewai_that_changed_what_is_relied_on_is_warned_of_once_and_the_tested_one_never() -> None:
    check_warned_once(
        "from crewai.core.providers.human_input import ExecutorContext",
        "del ExecutorContext._is_training_mode",
        "alma_crewai.listener",
        "ExecutorContext._is_training_mode",
    )
