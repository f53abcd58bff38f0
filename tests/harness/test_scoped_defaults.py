"""`retrieve_scoped` with neither agent nor workflow, as its shortest published form has it, and the configuration that begins at `agents:`."""

from pathlib import Path

import pytest

from alma import ALMA, ConfigurationError, ScopeViolationError, ValidationError

CONFIG = "alma:\n  project_id: p\n  storage_dir: .alma\n  embedding_provider: hash\n{inside}agents:\n  tess:\n    cannot_learn: [prices]\n"


@pytest.mark.parametrize("scope", ["workflow_only", "agent_only", "project_wide"])
def test_the_only_agent_and_the_only_workflow_are_taken(tmp_path: Path, scope: str) -> None:
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash") as alma:
        assert alma.retrieve_scoped("Test the checkout", scope).total_items == 0
        alma.learn_from_workflow("w1", "tess", "success", "Test the checkout")
        alma.add_user_preference("ann", "tone", "Be brief")
        assert len(alma.retrieve_scoped("Test the checkout", scope).outcomes) == 1
        alma.learn_from_workflow("w2", "tess", "success", "Test the checkout")
        if scope == "workflow_only":
            with pytest.raises(ValidationError, match="2 workflows"):
                alma.retrieve_scoped("Test the checkout", scope)
        alma.learn("kim", "Test the checkout", "success")
        with pytest.raises(ScopeViolationError, match="agent is missing"):
            alma.retrieve_scoped("Test the checkout", scope)


@pytest.mark.parametrize("scope", ["workflow_only", "agent_only", "project_wide"])
def test_an_empty_memory_checks_the_query_and_one_of_users_alone_needs_an_agent(tmp_path: Path, scope: str) -> None:
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash") as alma:
        with pytest.raises(ValidationError, match="query is empty"):
            alma.retrieve_scoped(" ", scope)
        alma.add_user_preference("ann", "tone", "Be brief")
        with pytest.raises(ScopeViolationError, match="agent is missing"):
            alma.retrieve_scoped("Test the checkout", scope, user_id="ann")


def test_rules_of_agents_may_stand_beside_the_other_settings(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(inside=""))
    with ALMA.from_config(file) as alma, pytest.raises(ScopeViolationError):
        alma.learn("tess", "Guess the price", "success", task_type="prices")
    file.write_text(CONFIG.format(inside="  agents: {kim: {}}\n"))
    with pytest.raises(ConfigurationError, match="agents: stands beside"):
        ALMA.from_config(file)
