"""A memory as files that a browser shows without a server: the page, and the answers of the API that its reading views need."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from fastapi import FastAPI
from starlette.types import Message

from alma import __version__
from alma.errors import MemoryNotFoundError, StorageError
from alma_access import Access, GivenTokens, token_of
from alma_access.secret_form import new_id, new_secret
from alma_server.app import create_app
from alma_server.page import INDEX, assets
from alma_server.paging import LARGEST_PAGE
from alma_server.routes.answers import Page
from alma_server.settings import ServerSettings

if TYPE_CHECKING:
    from alma import ALMA

DATA = "data.js"
BEGINNING = "globalThis.ALMA_SNAPSHOT="
"""First characters of the file with the answers, by which a snapshot is known."""

MOST_MEMORIES = 10_000
MOST_DETAILED = 2_000
"""Newest memories of which a snapshot has the history and the origin, too."""
MOST_RECORDS = 1_000
MOST_EPISODES = 200

_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEAD = '<meta charset="utf-8">'
_MARK = "<!-- data -->"
_RULES = ("heuristic", "anti_pattern")
Progress = Callable[[int, int], None]


def snapshot_files(alma: "ALMA", progress: Progress | None = None) -> dict[str, bytes]:
    """Returns the files of a snapshot of a project by name, `index.html` last: the newest 10,000 memories, with the history of 2,000, the newest
    1,000 journal records, and 200 episodes to judge. `progress` is called with the number of memories done and of all."""
    found = asyncio.run(_take(alma, progress))
    page = assets()[INDEX].content.decode()
    files = {name: asset.content for name, asset in assets().items() if name != INDEX}
    files[DATA] = f"{BEGINNING}{_as_script(found)};\n".encode()
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    page = page.replace(_HEAD, f"{_HEAD}{policy}", 1).replace(_MARK, f'<script src="./{DATA}"></script>', 1)
    return {**files, INDEX: page.encode()}


def _as_script(value: object) -> str:
    """Returns JSON in ASCII that ends no script element and is an expression of JavaScript."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


async def _take(alma: "ALMA", progress: Progress | None) -> dict[str, Any]:
    api = _Api(alma)
    try:
        answers = {name: await api.get(name) for name in ("stats", "kinds", "agents", "users", "timeline")}
        answers["review?limit=200"] = review = await api.get("review", limit=MOST_EPISODES)
        for agent in answers["agents"]["names"]:
            answers[f"timeline?agent={agent}"] = await api.get("timeline", agent=agent)
            answers[f"strategies?agent={agent}&limit=1000"] = await api.get("strategies", agent=agent, limit=1000)
        answers["journal"] = await _journal(api)
        answers["memories"] = memories = _memories(alma, answers["stats"]["total"])
        answers["memories?status=quarantined"] = await api.get("quarantine", limit=1000)
        answers |= await _details(api, memories["memories"][:MOST_DETAILED], progress)
        for item in (*review["unjudged"], *review["surprising"]):
            answers[f"episodes/{item['episode']['id']}"] = item["episode"]
    finally:
        api.close()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"made_at": now, "version": __version__, "project": alma.project_id, "answers": answers}


async def _journal(api: "_Api") -> dict[str, Any]:
    head = (await api.get("journal", limit=1))["head"]
    records: list[Any] = []
    after: int | None = max(0, head - MOST_RECORDS)
    while after is not None:
        part = await api.get("journal", after=after, limit=LARGEST_PAGE)
        records += part["records"]
        after = part["after"]
    return {"records": records, "head": head, "after": None}


def _memories(alma: "ALMA", total: int) -> dict[str, Any]:
    """Returns the newest memories, newest first, as a page of the API, read at once: its pages newest first read those before them again."""
    found = sorted(alma.list_memories(limit=MOST_MEMORIES), key=lambda memory: (memory.created_at, memory.id), reverse=True)
    return Page(memories=found, next=None, total=total).model_dump(mode="json")


async def _details(api: "_Api", memories: list[Any], progress: Progress | None) -> dict[str, Any]:
    answers = {}
    for number, memory in enumerate(memories):
        for part in ("history", "provenance", *(("evidence",) if memory["kind"] in _RULES else ())):
            path = f"memories/{memory['id']}/{part}"
            with suppress(MemoryNotFoundError):  # a rule that no agent was shown has no history
                answers[path] = await api.get(path, **({"limit": LARGEST_PAGE} if part == "evidence" else {}))
        if progress is not None:
            progress(number + 1, len(memories))
    return answers


class _Api:
    """Asks an application in this process, with a token for all, so that a snapshot holds the very answers of the API."""

    def __init__(self, alma: "ALMA") -> None:
        secret = new_secret(new_id())
        tokens = GivenTokens((token_of(secret, Access(projects=(alma.project_id,))),))
        settings = ServerSettings(project=alma.project_id, has_page=False, legacy=False)
        self._app: FastAPI = create_app(lambda _: alma, tokens, settings=settings)
        self._headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {secret}".encode())]

    async def get(self, path: str, **query: object) -> Any:
        """Returns the answer at an address below the project's. `MemoryNotFoundError` if there is none, `StorageError` for another problem."""
        parts: list[Message] = []

        async def send(message: Message) -> None:
            parts.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "root_path": "",
        } | {
            "path": f"/v1/{path}",
            "raw_path": quote(f"/v1/{path}").encode(),
            "query_string": urlencode(query).encode(),
            "headers": self._headers,
        }
        await self._app(scope, _wait, send)
        answer = json.loads(b"".join(part.get("body", b"") for part in parts))
        if parts[0]["status"] == 404:
            raise MemoryNotFoundError(answer["detail"])
        if parts[0]["status"] != 200:
            raise StorageError(f"{path} cannot be read for the snapshot: {answer['detail']}")
        return answer

    def close(self) -> None:
        """Ends the threads of the application."""
        self._app.state.service.work.close()


async def _wait() -> Message:
    """Waits as for a client that has sent its request and stays."""
    await asyncio.Event().wait()
    raise AssertionError("nothing ends the wait")
