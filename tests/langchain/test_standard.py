"""The standard tests that LangChain holds integrations to, none exempted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from alma import ALMA
from alma_langchain import ALMARetriever, create_alma_tools

TASK = "Deploy the auth service"


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ALMA]:
    folder: Path = tmp_path_factory.mktemp("standard")
    with ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        for number, way in enumerate(["blue-green", "canary", "by hand", "rolling", "recreate"]):
            alma.add_heuristic("dev", f"{TASK} number {number}", way)
        yield alma


@pytest.fixture(autouse=True)
def store(request: pytest.FixtureRequest, filled: ALMA) -> None:
    request.instance.alma = filled


class TestRetriever(RetrieversIntegrationTests):
    alma: ALMA

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return ALMARetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"alma": self.alma, "agent": "dev"}

    @property
    def retriever_query_example(self) -> str:
        return TASK


class Tool:
    alma: ALMA
    name: str

    @property
    def tool_constructor(self) -> BaseTool:
        return next(tool for tool in create_alma_tools(self.alma, agent="dev") if tool.name == self.name)


class Recall(Tool):
    name = "recall_memory"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": TASK}


class SaveFact(Tool):
    name = "save_fact"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"topic": "deploys", "fact": "The auth service has two replicas."}


class Check(Tool):
    name = "check_action"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"action": "restart the database"}


class SavePreference(Tool):
    name = "save_preference"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"topic": "deploys", "preference": "Never on Fridays."}


class Forget(Tool):
    name = "forget_saved"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"memory_id": "0199b2c4-8a52-7c3e-9d1f-3a5b7c9d1e2f"}


class TestCheckUnit(Check, ToolsUnitTests): ...


class TestCheck(Check, ToolsIntegrationTests): ...


class TestRecallUnit(Recall, ToolsUnitTests): ...


class TestRecall(Recall, ToolsIntegrationTests): ...


class TestSaveFactUnit(SaveFact, ToolsUnitTests): ...


class TestSaveFact(SaveFact, ToolsIntegrationTests): ...


class TestSavePreferenceUnit(SavePreference, ToolsUnitTests): ...


class TestSavePreference(SavePreference, ToolsIntegrationTests): ...


class TestForgetUnit(Forget, ToolsUnitTests): ...


class TestForget(Forget, ToolsIntegrationTests): ...
