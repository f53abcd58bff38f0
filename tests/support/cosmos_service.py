"""One account of Azure Cosmos DB for NoSQL, as far as searches for vectors use it, by its published REST interface, with its limits."""

import base64
import hashlib
import hmac
import json
import math
import re
from typing import Any
from urllib.parse import unquote

import numpy as np

from contract_service import Answer, ContractService, RefusedError, Request

TOKEN = "a-token-of-an-identity"
"""Of the identity that may use the account beside the key."""

KEY = base64.b64encode(b"a key of the contract server, 64 bytes as the service has them...").decode()
MOST_BYTES = 2 * 1024 * 1024
PAGE = 40
"""Items of an answer at most, however many are asked for: the service ends a page by its time or size."""

_NEAREST = re.compile(r"SELECT TOP @limit c\.memory FROM c WHERE c\.place = @place ORDER BY VectorDistance\(c\.vector, @query\)")
_THERE = "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"
_ALL = "SELECT VALUE c.id FROM c"


class CosmosService(ContractService):
    """An account with its databases. `databases[name][container]` has the container's definition and its items, by partition key and id."""

    def __init__(self) -> None:
        super().__init__()
        self.databases: dict[str, dict[str, dict[str, Any]]] = {}

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def items(self, container: str, database: str = "alma-memory") -> list[dict[str, Any]]:
        """All items of a container, watermarks left out."""
        found = self.databases[database][container]["items"]
        return [item for (_, name), item in found.items() if name != "watermark"]

    def answer(self, request: Request) -> Answer:
        parts = [part for part in request.path.split("/") if part]
        self._check_headers(request, parts)
        if not parts:
            return Answer(body=self._account())
        if parts == ["dbs"] and request.verb == "POST":
            return self._make_database(request.body)
        database = self._found(self.databases, parts[1])
        if len(parts) == 2 and request.verb == "GET":
            return Answer(body={"id": parts[1], "_rid": "AAAAAA==", "_self": "dbs/AAAAAA==/"})
        if parts[2:] == ["colls"]:
            return self._make_container(database, request.body) if request.verb == "POST" else self._containers(database)
        container = self._found(database, parts[3])
        if len(parts) == 4 and request.verb == "GET":
            return Answer(body=container["definition"])
        if parts[4:] == ["pkranges"] and request.verb == "GET":
            whole = {"id": "0", "minInclusive": "", "maxExclusive": "FF", "_rid": "AAAAAAAAAAA=", "ridPrefix": 0}
            return Answer(body={"PartitionKeyRanges": [whole], "_count": 1}, headers={"etag": '"1"'})
        if parts[4] == "docs":
            return self._documents(request, container, parts[5:])
        raise RefusedError(404, "no such resource")

    def refusal(self, error: RefusedError) -> Answer:
        return Answer(error.status, {"code": str(error.status), "message": str(error)})

    def _check_headers(self, request: Request, parts: list[str]) -> None:
        """The version, the date and the signature, made anew by the published rule."""
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", request.headers.get("x-ms-version") or ""):
            raise RefusedError(400, "x-ms-version is missing")
        is_feed = len(parts) % 2 == 1
        kind = parts[-1] if is_feed else (parts[-2] if parts else "")
        link = "/".join(parts[:-1] if is_feed else parts)
        date = request.headers.get("x-ms-date") or ""
        text = f"{request.verb.lower()}\n{kind.lower()}\n{link}\n{date.lower()}\n\n"
        signed = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        if unquote(request.headers.get("authorization") or "") not in (
            f"type=master&ver=1.0&sig={signed}",
            f"type=aad&ver=1.0&sig={TOKEN}",
        ):
            raise RefusedError(401, "The input authorization token can't serve the request", is_wanted=True)

    def _account(self) -> object:
        places = [{"name": "Loopback", "databaseAccountEndpoint": self.endpoint}]
        return {
            "id": "loopback",
            "_rid": "loopback.documents.azure.com",
            "writableLocations": places,
            "readableLocations": places,
            "enableMultipleWriteLocations": False,
            "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
            "queryEngineConfiguration": "{}",
        }

    def _make_database(self, body: Any) -> Answer:
        if body["id"] in self.databases:
            raise RefusedError(409, "there is such a database")
        self.databases[body["id"]] = {}
        return Answer(201, {"id": body["id"], "_rid": "AAAAAA=="})

    def _make_container(self, database: dict[str, Any], body: Any) -> Answer:
        if body["id"] in database:
            raise RefusedError(409, "there is such a container")
        if body.get("partitionKey", {}).get("paths") != ["/project"] or body["partitionKey"].get("kind") != "Hash":
            raise RefusedError(400, f"the partition key is {body.get('partitionKey')}")
        (embedding,) = body["vectorEmbeddingPolicy"]["vectorEmbeddings"]
        allowed = (("float32", "uint8", "int8", "float16"), ("cosine", "euclidean", "dotproduct"))
        if (embedding["dataType"] not in allowed[0]) or embedding["distanceFunction"] not in allowed[1]:
            raise RefusedError(400, f"the policy of vectors is {embedding}")
        if not 1 <= embedding["dimensions"] <= 4096:
            raise RefusedError(400, f"vectors may not have {embedding['dimensions']} numbers")
        policy = body["indexingPolicy"]
        if policy["vectorIndexes"] != [{"path": embedding["path"], "type": "diskANN"}]:
            raise RefusedError(400, f"the index of vectors is {policy.get('vectorIndexes')}")
        if {"path": f"{embedding['path']}/*"} not in policy["excludedPaths"]:
            raise RefusedError(400, "the numbers of a vector would be indexed one by one")
        definition = {**body, "_rid": "AAAAAAAAAAA=", "_self": "dbs/AAAAAA==/colls/AAAAAAAAAAA=/", "_etag": '"1"'}
        database[body["id"]] = {"definition": definition, "items": {}, "dimension": embedding["dimensions"]}
        return Answer(201, definition)

    def _containers(self, database: dict[str, Any]) -> Answer:
        found = [each["definition"] for each in database.values()]
        return Answer(body={"DocumentCollections": found, "_count": len(found)})

    def _documents(self, request: Request, container: dict[str, Any], rest: list[str]) -> Answer:
        try:
            (key,) = json.loads(request.headers.get("x-ms-documentdb-partitionkey") or "")
        except ValueError:
            raise RefusedError(400, "the partition key of the request is missing") from None
        if rest:
            return self._read(request, container, key, rest[0])
        if request.verb != "POST":
            raise RefusedError(405, f"{request.verb} of a feed")
        if (request.headers.get("x-ms-cosmos-is-batch-request") or "").lower() == "true":
            return self._batch(request, container, key)
        if (request.headers.get("x-ms-documentdb-isquery") or "").lower() == "true":
            return self._query(request, container, key)
        if (request.headers.get("x-ms-documentdb-is-upsert") or "").lower() != "true":
            raise RefusedError(400, "an item is neither asked for nor upserted")
        self._check_item(container, key, request.body)
        container["items"][key, request.body["id"]] = request.body
        return Answer(201, request.body, _session(container))

    def _read(self, request: Request, container: dict[str, Any], key: str, name: str) -> Answer:
        if request.verb != "GET":
            raise RefusedError(405, f"{request.verb} of an item")
        if (key, name) not in container["items"]:
            raise RefusedError(404, "Entity with the specified id does not exist in the system.", is_wanted=True)
        return Answer(body=container["items"][key, name], headers=_session(container))

    def _check_item(self, container: dict[str, Any], key: str, item: Any) -> None:
        if not isinstance(item.get("id"), str) or not 1 <= len(item["id"]) <= 255 or re.search(r"[/\\?#]", item["id"]):
            raise RefusedError(400, f"the id is {item.get('id')!r}")
        if item.get("project") != key:
            raise RefusedError(400, "the partition key of the item is not that of the request")
        if "vector" in item:
            _check_vector(item["vector"], container["dimension"])

    def _batch(self, request: Request, container: dict[str, Any], key: str) -> Answer:
        if (request.headers.get("x-ms-cosmos-batch-atomic") or "").lower() != "true":
            raise RefusedError(400, "a batch has to be atomic")
        if len(request.raw) > MOST_BYTES:
            raise RefusedError(413, f"the batch has {len(request.raw)} bytes")
        if not isinstance(request.body, list) or not 1 <= len(request.body) <= 100:
            raise RefusedError(400, "a batch takes 1 to 100 operations")
        items, failed = dict(container["items"]), None
        for place, each in enumerate(request.body):
            if each["operationType"] == "Upsert":
                self._check_item(container, key, each["resourceBody"])
                items[key, each["resourceBody"]["id"]] = each["resourceBody"]
            elif each["operationType"] == "Delete":
                if items.pop((key, each["id"]), None) is None:
                    failed = place
                    break
            else:
                raise RefusedError(400, f"the operation is {each['operationType']}")
        if failed is not None:
            self.mistakes.append("a batch deletes what is not there")
            codes = [404 if place == failed else 424 for place in range(len(request.body))]
            return Answer(207, [{"statusCode": code, "requestCharge": 1} for code in codes])
        container["items"] = items
        done = [{"statusCode": 204 if each["operationType"] == "Delete" else 201, "requestCharge": 1} for each in request.body]
        return Answer(200, done, _session(container))

    def _query(self, request: Request, container: dict[str, Any], key: str) -> Answer:
        if not (request.headers.get("Content-Type") or "").startswith("application/query+json"):
            raise RefusedError(400, "a query has a type of content of its own")
        text = request.body["query"]
        given = {each["name"]: each["value"] for each in request.body.get("parameters", [])}
        there = [item for (project, _), item in container["items"].items() if project == key]
        if _NEAREST.fullmatch(text):
            found: list[Any] = self._nearest(container, there, given)
        elif text == _THERE and set(given) == {"@ids"}:
            found = [item["id"] for item in there if item["id"] in set(given["@ids"])]
        elif text == _ALL and not given:
            found = [item["id"] for item in there]
        else:
            raise RefusedError(400, f"Syntax error, or a query of no known shape: {text} with {sorted(given)}")
        size = min(PAGE, int(request.headers.get("x-ms-max-item-count") or PAGE) % 10_000 or PAGE)
        start = int(json.loads(request.headers.get("x-ms-continuation") or '{"at": 0}')["at"])
        page, headers = found[start : start + size], _session(container)
        if start + size < len(found):
            headers["x-ms-continuation"] = json.dumps({"at": start + size})
        return Answer(body={"Documents": page, "_count": len(page), "_rid": "AAAAAAAAAAA="}, headers=headers)

    def _nearest(self, container: dict[str, Any], there: list[Any], given: dict[str, Any]) -> list[Any]:
        if set(given) != {"@limit", "@place", "@query"} or type(given["@limit"]) is not int or given["@limit"] < 1:
            raise RefusedError(400, f"the parameters are {sorted(given)}")
        _check_vector(given["@query"], container["dimension"])
        near = [item for item in there if item.get("place") == given["@place"]]
        near.sort(key=lambda item: -float(np.dot(item["vector"], given["@query"])))
        return [{"memory": item["memory"]} for item in near[: given["@limit"]]]

    @staticmethod
    def _found(there: dict[str, Any], name: str) -> Any:
        if name not in there:
            raise RefusedError(404, "Resource Not Found", is_wanted=True)
        return there[name]


def _check_vector(values: object, dimension: int) -> None:
    if not isinstance(values, list) or len(values) != dimension or not all(math.isfinite(number) for number in values):
        raise RefusedError(400, f"a vector is not of {dimension} finite numbers")


def _session(container: dict[str, Any]) -> dict[str, str]:
    container["writes"] = container.get("writes", 0) + 1
    return {"x-ms-session-token": f"0:-1#{container['writes']}", "x-ms-request-charge": "1"}
