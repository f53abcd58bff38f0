"""The data plane of one Pinecone index and its making, as their published interfaces describe them, with their limits."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from contract_service import Answer, ContractService, RefusedError, Request

KEY = "pcsk_contract_server"
MOST_BYTES = 2 * 1024 * 1024
MOST_METADATA = 40 * 1024
Entries = dict[str, dict[str, Any]]


class PineconeService(ContractService):
    """An index of a dimension. While it is held, reads show the state of that moment, as an eventually consistent service may."""

    def __init__(self, dimension: int, name: str = "alma-memories", *, is_made: bool = True) -> None:
        super().__init__()
        self.dimension, self.name, self.is_made = dimension, name, is_made
        self.deployment = {"deployment_type": "managed", "cloud": "aws", "region": "us-east-1", "environment": "aped-4627-b74a"}
        self.namespaces: dict[str, Entries] = {}
        self._shown: dict[str, Entries] | None = None

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def hold(self) -> None:
        """From now on, writes are taken and not shown."""
        self._shown = {name: dict(entries) for name, entries in self.namespaces.items()}

    def settle(self) -> None:
        """Shows all that was written."""
        self._shown = None

    def entries(self) -> dict[str, dict[str, Any]]:
        """All entries of the only namespace, the watermark left out."""
        (found,) = [entries for entries in self.namespaces.values() if entries] or [{}]
        return {name: entry for name, entry in found.items() if name != "watermark"}

    def answer(self, request: Request) -> Answer:
        if request.headers.get("Api-Key") != KEY:
            raise RefusedError(401, "Invalid API Key", is_wanted=True)
        if not re.fullmatch(r"\d{4}-\d\d", request.headers.get("X-Pinecone-Api-Version") or ""):
            raise RefusedError(400, "the version of the interface is missing")
        if request.verb == "POST" and not (request.headers.get("Content-Type") or "").startswith("application/json"):
            raise RefusedError(415, "a body has to be JSON")
        known = {
            ("POST", "/vectors/upsert"): self._upsert,
            ("POST", "/query"): self._query,
            ("GET", "/vectors/fetch"): self._fetch,
            ("POST", "/vectors/delete"): self._delete,
            ("POST", "/describe_index_stats"): self._stats,
            ("GET", f"/indexes/{self.name}"): self._described,
            ("POST", "/indexes"): self._make,
        }
        if (request.verb, request.path) not in known:
            raise RefusedError(404, "no such path")
        if not self.is_made and request.path != "/indexes":
            raise RefusedError(404, f"Resource {self.name} not found", is_wanted=request.verb == "GET")
        return Answer(body=known[request.verb, request.path](request))

    def refusal(self, error: RefusedError) -> Answer:
        return Answer(error.status, {"code": error.status, "message": str(error), "details": []})

    def _upsert(self, request: Request) -> object:
        body = _checked(request.body, {"vectors", "namespace"})
        vectors = body.get("vectors")
        if len(request.raw) > MOST_BYTES:
            raise RefusedError(413, f"the request has {len(request.raw)} bytes")
        if not isinstance(vectors, list) or not 1 <= len(vectors) <= 1000:
            raise RefusedError(400, "an upsert takes 1 to 1000 vectors")
        entries = {self._entry(vector)["id"]: vector for vector in vectors}
        self.namespaces.setdefault(_namespace(body.get("namespace", "")), {}).update(entries)
        return {"upsertedCount": len(vectors)}

    def _entry(self, vector: object) -> Any:
        found = _checked(vector, {"id", "values", "metadata"})
        _check_id(found.get("id"))
        self._check_values(found.get("values"))
        metadata = found.get("metadata", {})
        if not isinstance(metadata, dict) or len(str(metadata).encode()) > MOST_METADATA:
            raise RefusedError(400, "metadata has to be an object of at most 40 kB")
        for value in metadata.values():
            is_list = isinstance(value, list) and all(isinstance(part, str) for part in value)
            if not is_list and not isinstance(value, str | int | float | bool):
                raise RefusedError(400, f"a value of metadata is {value!r}")
        return found

    def _check_values(self, values: object) -> None:
        if not isinstance(values, list) or len(values) != self.dimension:
            raise RefusedError(400, f"a vector does not match the dimension {self.dimension} of the index")
        if not all(isinstance(number, int | float) and math.isfinite(number) for number in values):
            raise RefusedError(400, "a vector has to be of finite numbers")
        if not any(values):
            raise RefusedError(400, "a dense vector must contain at least one non-zero value")

    def _query(self, request: Request) -> object:
        body = _checked(request.body, {"vector", "topK", "namespace", "filter", "includeValues", "includeMetadata"})
        self._check_values(body.get("vector"))
        if not isinstance(body.get("topK"), int) or not 1 <= body["topK"] <= 10_000:
            raise RefusedError(400, "topK must be from 1 to 10000")
        wanted, namespace = body.get("filter", {}), _namespace(body.get("namespace", ""))
        _check_filter(wanted)
        there = [entry for entry in self._read(namespace).values() if _passes(entry.get("metadata", {}), wanted)]
        scores = [_cosine(entry["values"], body["vector"]) for entry in there]
        best = sorted(range(len(there)), key=lambda place: -scores[place])[: body["topK"]]
        matches = [{"id": there[place]["id"], "score": scores[place]} for place in best]
        if body.get("includeMetadata"):
            for match, place in zip(matches, best, strict=True):
                match["metadata"] = _as_numbers(there[place].get("metadata", {}))
        return {"matches": matches, "namespace": namespace, "usage": {"readUnits": 1}}

    def _fetch(self, request: Request) -> object:
        ids, namespace = request.parameters.get("ids", []), _namespace(request.parameters.get("namespace", [""])[0])
        if not 1 <= len(ids) <= 1000:
            raise RefusedError(400, "a fetch takes 1 to 1000 ids")
        there = self._read(namespace)
        found = {name: {**there[name], "metadata": _as_numbers(there[name].get("metadata", {}))} for name in ids if name in there}
        return {"vectors": found, "namespace": namespace, "usage": {"readUnits": 1}}

    def _delete(self, request: Request) -> object:
        body = _checked(request.body, {"ids", "deleteAll", "namespace"})
        namespace = _namespace(body.get("namespace", ""))
        if ("ids" in body) is bool(body.get("deleteAll")):
            raise RefusedError(400, "a delete takes ids or deleteAll")
        if namespace not in self.namespaces:
            raise RefusedError(404, "Namespace not found", is_wanted=True)
        if body.get("deleteAll"):
            del self.namespaces[namespace]
            return {}
        if not isinstance(body["ids"], list) or not 1 <= len(body["ids"]) <= 1000:
            raise RefusedError(400, "a delete takes 1 to 1000 ids")
        for name in body["ids"]:
            _check_id(name)
            self.namespaces[namespace].pop(name, None)
        return {}

    def _stats(self, request: Request) -> object:
        _checked(request.body, {"filter"})
        counts = {name: {"vectorCount": len(entries)} for name, entries in self.namespaces.items()}
        return {
            "dimension": self.dimension,
            "indexFullness": 0,
            "metric": "cosine",
            "namespaces": counts,
            "totalVectorCount": sum(len(entries) for entries in self.namespaces.values()),
            "vectorType": "dense",
        }

    def _make(self, request: Request) -> object:
        body = _checked(request.body, {"name", "schema", "deployment"})
        field = body["schema"]["fields"]["_values"]
        if self.is_made:
            raise RefusedError(409, "Resource already exists", is_wanted=True)
        if not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,43}[a-z0-9])?", body["name"]) or body["name"] != self.name:
            raise RefusedError(400, f"an index is named {body['name']!r}")
        if field["type"] != "dense_vector" or field["metric"] != "cosine" or not 1 <= field["dimension"] <= 20_000:
            raise RefusedError(400, f"a field is {field}")
        if body["deployment"].get("deployment_type") != "managed" or {"cloud", "region"} - set(body["deployment"]):
            raise RefusedError(400, f"a deployment is {body['deployment']}")
        self.is_made, self.dimension = True, field["dimension"]
        self.deployment |= body["deployment"]
        return self._described(request)

    def _described(self, _: Request) -> object:
        return {
            "name": self.name,
            "host": self.host,
            "schema": {"fields": {"_values": {"type": "dense_vector", "dimension": self.dimension, "metric": "cosine"}}},
            "status": {"ready": True, "state": "Ready"},
            "deployment": self.deployment,
            "deletion_protection": "disabled",
            "read_capacity": {"mode": "OnDemand", "status": {"state": "Ready"}},
        }

    def _read(self, namespace: str) -> Entries:
        return (self.namespaces if self._shown is None else self._shown).get(namespace, {})


def _checked(body: object, known: set[str]) -> dict[str, Any]:
    if not isinstance(body, dict) or (set(body) - known):
        raise RefusedError(400, f"the body is {str(body)[:200]}, known are {sorted(known)}")
    return body


def _namespace(name: object) -> str:
    if not isinstance(name, str) or not name.isascii() or len(name) > 512:
        raise RefusedError(400, f"a namespace is named {name!r}")
    return name


def _check_id(name: object) -> None:
    if not isinstance(name, str) or not name.isascii() or not 1 <= len(name) <= 512:
        raise RefusedError(400, f"an id is {name!r}")


def _check_filter(wanted: object) -> None:
    if not isinstance(wanted, dict):
        raise RefusedError(400, "a filter has to be an object")
    for name, value in wanted.items():
        if name in ("$and", "$or"):
            if not isinstance(value, list) or not value:
                raise RefusedError(400, f"{name} takes a list")
            for part in value:
                _check_filter(part)
        elif name.startswith("$") or not isinstance(value, dict) or set(value) - {"$eq", "$in"}:
            raise RefusedError(400, f"the filter has {name}: {value!r}")


def _passes(metadata: Mapping[str, object], wanted: Mapping[str, Any]) -> bool:
    for name, value in wanted.items():
        if name == "$and":
            passes = all(_passes(metadata, part) for part in value)
        elif name == "$or":
            passes = any(_passes(metadata, part) for part in value)
        else:
            held = metadata.get(name)
            passes = ("$eq" not in value or held == value["$eq"]) and ("$in" not in value or held in value["$in"])
        if not passes:
            return False
    return True


def _as_numbers(metadata: Mapping[str, object]) -> dict[str, object]:
    """Numbers come back as floating point."""
    return {name: float(value) if type(value) is int else value for name, value in metadata.items()}


def _cosine(one: list[float], other: list[float]) -> float:
    a, b = np.array(one), np.array(other)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
