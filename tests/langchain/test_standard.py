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
        return next(tool for tool in create_alma_tools(self.alma, "dev") if tool.name == self.name)


class Search(Tool):
    name = "search_memory"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": TASK}


class Record(Tool):
    name = "record_outcome"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"task": TASK, "outcome": "success", "strategy": "blue-green"}


class Check(Tool):
    name = "check_action"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"action": "restart the database"}


class TestCheckUnit(Check, ToolsUnitTests): ...


class TestCheck(Check, ToolsIntegrationTests): ...


class TestSearchUnit(Search, ToolsUnitTests): ...


class TestSearch(Search, ToolsIntegrationTests): ...


class TestRecordUnit(Record, ToolsUnitTests): ...


class TestRecord(Record, ToolsIntegrationTests): ...
