"""Writes the documents of the HTTP API, which are made from its routes: `python tests/support/api_document.py`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alma_server.openapi import api_document

REFERENCE = Path(__file__).resolve().parents[2] / "docs/reference"
TITLES = {
    "ask": "Before a task",
    "record": "After a task",
    "memories": "Memories",
    "episodes": "Episodes",
    "upkeep": "Forgetting, history, counts",
    "workflows": "Workflows",
    "graph": "The graph and the self-model",
    "events": "Events",
    "webhooks": "Webhooks",
    "transfer": "Export and import",
    "tokens": "Tokens",
    "service": "The server",
}
BEGINNING = """# HTTP API

Every operation of the API that `alma serve` answers; the whole of it, with all fields of bodies and answers, is
[openapi.json](openapi.json) (OpenAPI 3.1). Names are those of the library's methods and arguments. An address without
`/projects/{project}` is of the project that the token is bound to, else of the one in the server's configuration. Errors are
`application/problem+json`. This page and that document are made from the routes.
"""


def documents() -> dict[Path, str]:
    """Returns the text of each file."""
    document = api_document()
    return {
        REFERENCE / "openapi.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n",
        REFERENCE / "http_api.md": "\n".join(page(document)) + "\n",
    }


def page(document: dict[str, Any]) -> Iterator[str]:
    """Yields the lines of the page."""
    yield BEGINNING
    found: dict[str, list[tuple[str, str, dict[str, Any]]]] = {name: [] for name in TITLES}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            found[operation["tags"][0]].append((method.upper(), path, operation))
    for tag, operations in found.items():
        if operations:
            yield f"## {TITLES[tag]}\n\n| request | operation | what it does |\n|---|---|---|"
            for method, path, operation in operations:
                said = " ".join(operation["description"].split()).replace("|", "\\|")
                yield f"| `{method} {path}` | `{operation['operationId']}`{fields(document, operation)} | {said} |"
            yield ""


def fields(document: dict[str, Any], operation: dict[str, Any]) -> str:
    """The names of the parameters and of the fields of the body; a star marks those that are needed."""
    named = [
        f"{each['name']}{'*' * each.get('required', False)}"
        for each in operation.get("parameters", [])
        if each["in"] == "query" or each["name"].lower() == "if-match"
    ]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    schema = document["components"]["schemas"].get(content.get("$ref", "").rpartition("/")[2], {})
    named += [f"{name}{'*' * (name in schema.get('required', []))}" for name in schema.get("properties", {})]
    return f" ({', '.join(named)})" if named else ""


if __name__ == "__main__":
    for file, text in documents().items():
        file.write_text(text, encoding="utf-8")
