"""`alma consolidate` shows what it would merge, and merges with `--apply`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alma import ALMA
from alma_cli.app import app

FACTS = (
    "The nightly backup starts at 02:00 UTC.",
    "At 02:00 UTC the nightly backup starts.",
    "Nightly backups are kept in two regions.",
)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "config.yaml"
    file.write_text(f"alma:\n  project_id: shop\n  storage_dir: {tmp_path}\n  embedding_provider: hash\n")
    with ALMA.from_config(file) as alma:
        for fact in FACTS:
            alma.add_domain_knowledge("dev", "ops", fact)
    return file


def run(config: Path, *arguments: str) -> str:
    ended = CliRunner().invoke(app, ["consolidate", "--agent", "dev", "--threshold", "0.5", "--config", str(config), *arguments])
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def test_it_shows_first_and_merges_with_apply(config: Path) -> None:
    shown = run(config)
    assert all(fact in shown for fact in FACTS[:2])
    assert "1 would be merged into 1 others" in shown
    assert "--apply merges them" in shown

    merged = run(config, "--apply")

    assert "1 merged into 1 others" in merged
    assert "`alma undo --to 3` takes that back" in merged
    assert json.loads(run(config, "--json"))["merged_count"] == 0


def test_a_model_that_is_not_configured_is_an_error(config: Path) -> None:
    ended = CliRunner().invoke(app, ["consolidate", "--agent", "dev", "--llm", "--config", str(config)])

    assert ended.exit_code != 0
    assert "use_llm needs a language model" in ended.stderr
