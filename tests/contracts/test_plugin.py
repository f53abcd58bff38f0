"""The pytest plugin, as a user's suite meets it: in a process of its own."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from run_document import blocks

pytest_plugins = ["pytester"]

HEAVY = ("numpy", "pydantic", "hypothesis", "sqlite3", "faiss", "onnxruntime", "sqlmodel")


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    assert [point.value for point in entry_points(group="pytest11", name="alma")] == ["alma_testing.plugin"]


@pytest.mark.slow
def test_a_suite_that_does_not_use_the_plugin_pays_nothing_for_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"""
        import sys

        def test_nothing(request):
            assert request.config.pluginmanager.has_plugin("alma")
            loaded = [name for name in {HEAVY!r} if name in sys.modules]
            ours = [name for name in sys.modules if name.startswith("alma.")]
            assert (loaded, ours) == ([], [])
            assert sorted(name for name in sys.modules if name.startswith("alma_testing")) == ["alma_testing", "alma_testing.plugin"]
    """)
    pytester.runpytest_subprocess("-p", "no:hypothesispytest", "-p", "no:langsmith_plugin").assert_outcomes(passed=1)


@pytest.mark.slow
def test_each_test_has_an_empty_memory_that_is_told_the_time(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from datetime import timedelta

        import pytest

        from alma.testing import assert_never_recalls, assert_recalls

        @pytest.mark.parametrize("time", [1, 2])
        def test_an_agent_remembers(alma_memory, alma_clock, tmp_path, time):
            assert alma_memory.get_stats().total == 0
            outcome = alma_memory.learn("ann", "Deploy the ledger", "success")
            assert outcome.timestamp == alma_clock()
            fresh = alma_memory.retrieve("Deploy the ledger", "ann").recalled[0]
            alma_clock.advance(days=30)
            faded = alma_memory.retrieve("Deploy the ledger", "ann").recalled[0]
            assert faded.factors.recency == pytest.approx(fresh.factors.recency / 2)
            assert_recalls(alma_memory, outcome, agent="ann")
            assert_never_recalls(alma_memory, "ledger", agent="bob")
            assert {path.parent.name for path in tmp_path.rglob("alma.db")} == {".alma"}
    """)
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_suite_gives_the_rules_of_its_agents(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        from alma.testing import assert_recalls

        @pytest.fixture
        def alma_agents():
            return {"ann": {"share_with": ["bob"]}}

        def test_bob_knows_what_ann_learned(alma_memory):
            alma_memory.learn("ann", "Deploy the ledger", "success")
            assert_recalls(alma_memory, "ledger", agent="bob")
    """)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


@pytest.mark.slow
def test_the_tests_on_the_page_about_testing_pass_as_a_suite(pytester: pytest.Pytester) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "guides" / "testing.md"
    suites = [
        block.text for block in blocks(page.read_text(encoding="utf-8")) if "def test_" in block.text or "Contract)" in block.text
    ]
    assert len(suites) == 2
    pytester.makepyfile(**{f"test_{number}": text for number, text in enumerate(suites)})
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=14)


@pytest.mark.slow
def test_a_failure_of_a_contract_shows_the_values(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import numpy as np
        import pytest

        from alma.testing import EmbedderContract, MockEmbedder

        class Wide(MockEmbedder):
            def embed(self, texts):
                return np.ones((len(texts), 7), np.float32)

        class TestWide(EmbedderContract):
            @pytest.fixture
            def new_embedder(self):
                return Wide
    """)
    result = pytester.runpytest_subprocess("-k", "no_texts")
    result.assert_outcomes(failed=1, deselected=10)
    result.stdout.fnmatch_lines(["E*assert (0, 7) == (0, 32)"])
