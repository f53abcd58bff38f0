"""`alma.graph` of an `AsyncALMA`, on the command line, and where the store is encrypted."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alma import ALMA, AsyncALMA
from alma_cli.app import app
from graph_scenes import targets


def test_every_method_is_awaited_on_an_asynchronous_memory(tmp_path: Path) -> None:
    async def main() -> list[str]:
        async with AsyncALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
            await alma.graph.relate("Ann", "works_for", "Acme", agent="dev")
            assert "Ann" in str(await alma.graph.about("Ann"))
            return targets(await alma.graph.relations("Ann"))

    assert asyncio.run(main()) == ["Acme"]


def test_what_the_graph_has_not_the_asynchronous_one_has_not(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
            with pytest.raises(AttributeError, match="no attribute 'dance'"):
                alma.graph.dance()

    asyncio.run(main())


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(f"project_id: shop\nembedding_provider: hash\nstorage_dir: {tmp_path}\n", "utf-8")
    with ALMA.from_config(path) as alma:
        alma.add_domain_knowledge(agent="dev", domain="people", fact="Alice from Acme Corp lives in Berlin.")
    return path


def run(config: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["graph", *arguments, "--config", str(config)])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_lists_entities_writes_a_page_and_joins_two(config: Path) -> None:
    assert "nothing is known" in run(config, "show")
    assert {one["name"] for one in json.loads(run(config, "show", "--read", "--json"))["entities"]} == {
        "Alice",
        "Acme Corp",
        "Berlin",
    }
    assert "works for: Acme Corp" in run(config, "about", "Alice")
    path = json.loads(run(config, "path", "Acme Corp", "Berlin", "--json"))["relations"]
    assert [(one["source"], one["relation"], one["target"]) for one in path] == [
        ("Alice", "works_for", "Acme Corp"),
        ("Alice", "lives_in", "Berlin"),
    ]
    assert "lives_in" in run(config, "show", "Alice")
    assert "nothing is known" in run(config, "show", "--agent", "other")


def test_the_command_says_how_many_names_it_takes(config: Path) -> None:
    result = CliRunner().invoke(app, ["graph", "path", "Alice", "--config", str(config)])
    assert result.exit_code == 2
    assert "takes 2 names, not 1" in result.output
