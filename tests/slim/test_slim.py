"""alma-core alone, from its wheel, with nothing beyond its dependencies: it imports, learns and answers."""

import asyncio
import gzip
import importlib.util
import inspect
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import alma
import alma.types
from alma import ALMA, AsyncALMA
from alma.errors import MissingDependencyError

FORMER = Path(__file__).parents[1] / "upgrade" / "data"
TASK = "Deploy the authentication service"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / ".alma"


def learn_once(store: Path) -> None:
    with ALMA.open(store, project_id="shop") as alma:
        alma.learn(agent="dev", task=TASK, outcome="success", strategy_used="Blue-green deployment with health checks")


@pytest.mark.parametrize("module", ["alma_knowledge", "alma_minilm", "cryptography", "onnxruntime", "tokenizers", "typer"])
def test_no_extra_is_installed(module: str) -> None:
    assert importlib.util.find_spec(module) is None


def test_what_was_learned_is_found_without_a_model(store: Path) -> None:
    learn_once(store)
    with ALMA.open(store, project_id="shop") as alma:
        memories = alma.retrieve(task=TASK, agent="dev")
    assert [outcome.strategy_used for outcome in memories.outcomes] == ["Blue-green deployment with health checks"]


def test_the_newest_fact_of_a_domain_comes_first_and_none_is_said_to_contradict_another(store: Path) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    days = iter(range(1_000))
    with ALMA.open(store, project_id="shop", clock=lambda: start + timedelta(hours=next(days))) as alma:
        old = alma.add_domain_knowledge("dev", "billing", "The checkout timeout is 30 s")
        other = alma.add_domain_knowledge("dev", "mail", "The checkout timeout is written in the footer of each mail")
        new = alma.add_domain_knowledge("dev", "billing", "The timeout of a checkout with a cart is 60 s now")
        found = alma.retrieve("The checkout timeout is 30 s", "dev")
        verified = alma.retrieve("The checkout timeout is 30 s", "dev", verified=True)
    ids = [memory.id for memory in found.domain_knowledge]
    assert set(ids) == {old.id, other.id, new.id}
    assert ids.index(new.id) < ids.index(old.id)
    assert verified.ids == found.ids
    assert (found.contradictions, verified.contradictions) == ((), ())
    assert found.to_prompt().count("(as of ") == 3


def test_a_key_says_which_extra_it_needs_and_makes_no_store(store: Path) -> None:
    with pytest.raises(MissingDependencyError, match=r"alma-core\[encryption\]"):
        ALMA.open(store, project_id="shop", encryption_key=bytes(32))
    assert not store.exists()


def test_a_store_of_a_former_version_says_which_extra_it_needs_and_stays_as_it_is(store: Path) -> None:
    store.mkdir()
    former = gzip.decompress((FORMER / "plain.gz").read_bytes())
    (store / "alma.db").write_bytes(former)
    with pytest.raises(MissingDependencyError, match=r"former version.*alma-core\[upgrade\]"):
        ALMA.open(store, embedding_provider="hash", embedding_dim=16, project_id="shop")
    assert (store / "alma.db").read_bytes() == former


def test_an_export_of_a_former_version_says_which_extra_it_needs_and_is_not_stored(store: Path) -> None:
    export = store.parent / "export.jsonl"
    export.write_bytes(gzip.decompress((FORMER / "export.jsonl.gz").read_bytes()))
    with ALMA.open(store, embedding_provider="hash", embedding_dim=16, project_id="shop") as alma:
        with pytest.raises(MissingDependencyError, match=r"former version.*alma-core\[upgrade\]"):
            alma.import_from(export)
        assert alma.get_stats().total == 0


def test_a_store_in_files_says_which_extra_it_needs_and_is_not_made(store: Path) -> None:
    with pytest.raises(MissingDependencyError, match=r"alma-core\[files\]"):
        ALMA.open(store, project_id="shop", storage="file")
    with ALMA.open(store, project_id="shop") as alma, pytest.raises(MissingDependencyError, match=r"alma-core\[files\]"):
        alma.migrate(f"file://{store}/files")
    assert not (store / "files").exists()


def test_the_reader_of_other_databases_says_which_extra_it_needs(store: Path) -> None:
    with ALMA.open(store, project_id="shop") as alma, pytest.raises(MissingDependencyError, match=r"alma-core\[cli\]"):
        alma.import_alma_memory(store / "old.db")


def test_the_names_for_tests_say_which_extra_they_need() -> None:
    with pytest.raises(MissingDependencyError, match=r"alma-core\[testing\]"):
        from alma.testing import FixedClock  # noqa: F401 - the import is the act


def test_another_agent_is_shown_nothing(store: Path) -> None:
    learn_once(store)
    with ALMA.open(store, project_id="shop") as alma:
        assert alma.retrieve(task=TASK, agent="stranger").total_items == 0


def test_the_command_line_says_which_extra_it_needs() -> None:
    done = subprocess.run([sys.executable, "-m", "alma", "stats"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "alma-core[cli]" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_method_of_the_harness_says_which_extra_it_needs(store: Path) -> None:
    with ALMA.open(store, project_id="shop") as alma, pytest.raises(MissingDependencyError, match=r"alma-core\[harness\]"):
        alma.wakeup("dev")


def test_a_method_of_the_harness_says_so_in_an_event_loop(store: Path) -> None:
    async def wake_up() -> None:
        async with AsyncALMA.open(store, project_id="shop") as alma:
            await alma.wakeup("dev")

    with pytest.raises(MissingDependencyError, match=r"alma-core\[harness\]"):
        asyncio.run(wake_up())


def test_events_say_which_extra_they_need(store: Path) -> None:
    with ALMA.open(store, project_id="shop") as alma, pytest.raises(MissingDependencyError, match=r"alma-core\[events\]"):
        alma.events()
    with pytest.raises(MissingDependencyError, match=r"alma-core\[events\]"):
        from alma.events import get_emitter  # noqa: F401 - the import is the act


@pytest.mark.parametrize("cls", [ALMA, AsyncALMA])
def test_all_methods_can_be_looked_at(cls: type) -> None:
    assert {"learn", "wakeup", "checkpoint"} <= {name for name, _ in inspect.getmembers(cls, inspect.isfunction)}


def test_names_of_other_packages_say_which_extra_they_need() -> None:
    with pytest.raises(MissingDependencyError, match=r"alma-core\[integration\]"):
        from alma.integration import Run  # noqa: F401 - the import is the act
    with pytest.raises(MissingDependencyError, match=r"alma-core\[harness\]"):
        from alma import ImportanceDetector  # noqa: F401 - the import is the act
    with pytest.raises(MissingDependencyError, match=r"alma-core\[knowledge\]"):
        from alma.extraction import AutoLearner  # noqa: F401 - the import is the act


def test_everything_that_alma_lists_is_there() -> None:
    assert all(getattr(alma, name) for name in alma.__all__)
    assert all(getattr(alma.types, name) for name in alma.types.__all__)
