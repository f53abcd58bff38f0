"""A memory as one page that a browser shows without a server: the explorer, and the answers of the API that its reading views need."""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
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

SIGN = '<meta name="generator" content="ALMA snapshot">'
"""Element at the beginning of a snapshot, by which it is known."""

MOST_MEMORIES = 10_000
MOST_DETAILED = 2_000
"""Newest memories of which a snapshot has the history and the origin, too."""
MOST_RECORDS = 1_000
MOST_EPISODES = 200

_HEAD = '<meta charset="utf-8">'
_MARK = "<!-- data -->"
_LINK = re.compile(r'<link rel="stylesheet" href="\./([^"]+)">')
_SCRIPT = re.compile(r'<script defer src="\./([^"]+)"></script>')
_RULES = ("heuristic", "anti_pattern")
Progress = Callable[[int, int], None]


def snapshot_page(alma: "ALMA", progress: Progress | None = None) -> bytes:
    """Returns a project as one HTML page in UTF-8: the newest 10,000 memories, with the history of 2,000, the newest 1,000 journal records, and 200
    episodes to judge. The page loads nothing and sends nothing. `progress` is called with the number of memories done and of all."""
    found = asyncio.run(_take(alma, progress))
    page = assets()[INDEX].content.decode()
    (link,), (script,) = _LINK.finditer(page), _SCRIPT.finditer(page)
    style, program = (assets()[match[1]].content.decode() for match in (link, script))
    data = f"globalThis.ALMA_SNAPSHOT={_as_script(found)};"
    policy = (
        f"default-src 'none'; script-src {_source_of(data)} {_source_of(program)}; style-src {_source_of(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    for old, new in (
        (_HEAD, f"{_HEAD}{SIGN}{meta}"),
        (_MARK, ""),
        (link[0], f"<style>{style}</style>"),
        (script[0], ""),
        ("</body>", f"<script>{data}</script><script>{program}</script></body>"),
    ):
        page = page.replace(old, new, 1)
    return page.encode()


def is_snapshot(beginning: bytes) -> bool:
    """Returns True when a file that begins so, with its first 500 bytes or more, is a snapshot."""
    return SIGN.encode() in beginning[:500]


def _source_of(text: str) -> str:
    """Returns what admits an inline script or style of this text in a content security policy."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


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
            with suppress(MemoryNotFoundError):  # it was erased meanwhile
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
