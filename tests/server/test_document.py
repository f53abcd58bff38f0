"""The documents of the API are those of its routes, and name each operation as the library does."""

import json
from pathlib import Path

import pytest

from alma import ALMA
from alma.graph import Graph
from alma_server.openapi import api_document
from alma_server.routes.document import PROBLEM
from api_document import REFERENCE, documents

DOCUMENTS = documents()

OWN = {
    *(
        "live",
        "ready",
        "version",
        "metrics",
        "whoami",
        "begin_session",
        "projects",
        "list_tokens",
        "create_token",
        "revoke_token",
        "get_job",
        "get_export",
        "export_now",
    ),
    *(
        "forget_memory",
        "entity_timeline",
        "episode_step",
        "episode_observe",
        "episode_end",
        "export_user",
        "journal",
        "agents",
        "events",
        "graph_state",
        "list_unsure",
        "judge_pair",
    ),
}
"""Operations that are of the server, or of what a method of the library returns."""


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_a_committed_document_is_what_the_routes_say(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == DOCUMENTS[file], "run `python tests/support/api_document.py`"


def test_operations_are_named_as_methods_of_the_library() -> None:
    document = json.loads((REFERENCE / "openapi.json").read_text(encoding="utf-8"))
    named = {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}
    assert document["openapi"].startswith("3.1")
    of_webhooks = {name for name in named if "webhook" in name}
    assert {name for name in named - OWN - of_webhooks if not hasattr(ALMA, name) and not hasattr(Graph, name)} == set()


def test_a_problem_of_an_answer_is_that_of_the_errors_and_no_schema_takes_its_name() -> None:
    schemas = api_document()["components"]["schemas"]
    assert schemas["Problem"] == PROBLEM
    assert schemas["VerifyReport"]["properties"]["problems"]["items"] == {"$ref": "#/components/schemas/StoreProblem"}
