"""Cursors of pages and versions of answers, whatever is listed or shown."""

import base64
from typing import Annotated, Any
from urllib.parse import quote

import pytest
from fastapi import APIRouter, Query, Response

from alma_server.asking import AskedDep
from alma_server.paging import make_cursor, read_cursor, show_next
from alma_server.tags import check_match, show_tag
from api_serving import Served

NUMBERS = "/v1/projects/shop/numbers"
CONTENT = "/v1/projects/shop/content"


@pytest.fixture
def listed(served: Served) -> Served:
    """The server with a list of ten numbers, three a page, and something that has versions."""
    router = APIRouter(prefix="/projects/{project}")
    content = {"text": "first"}

    @router.get("/numbers")
    async def numbers(asked: AskedDep, cursor: str | None = None, odd: Annotated[bool, Query()] = False) -> list[int]:
        start = read_cursor(asked, cursor, odd=odd) or 0
        page = [number for number in range(10) if number >= start and (not odd or number % 2)][:3]
        show_next(asked, make_cursor(asked, page[-1] + 1, odd=odd) if len(page) == 3 else None)
        return page

    @router.get("/content")
    async def show(asked: AskedDep) -> Any:
        return Response(status_code=304) if show_tag(asked, content) else content

    @router.put("/content")
    async def change(asked: AskedDep, text: str) -> dict[str, str]:
        check_match(asked, content)
        content["text"] = text
        return content

    served.app.include_router(router, prefix="/v1")
    return served


@pytest.mark.parametrize("query", ["", "?odd=true"])
def test_links_lead_through_a_whole_list(query: str, listed: Served) -> None:
    client, address, seen = listed.client(), NUMBERS + query, list[int]()
    while address:
        answer = client.get(address)
        seen += answer.json()
        address = answer.links.get("next", {}).get("url", "")
    assert seen == [number for number in range(10) if not query or number % 2]


@pytest.mark.parametrize("project", ["магазин", "店", "a/b", "a%2Fb", 'a>b"c'])
def test_links_lead_through_a_list_of_a_project_of_any_name(project: str, listed: Served) -> None:
    client, address = listed.client(), NUMBERS.replace("shop", quote(project, safe=""))
    assert client.get(client.get(address).links["next"]["url"]).json() == [3, 4, 5]


def test_a_cursor_is_of_one_list_token_and_project(listed: Served) -> None:
    client = listed.client("one")
    cursor = client.get(NUMBERS).links["next"]["url"].partition("cursor=")[2]
    assert client.get(NUMBERS, params={"cursor": cursor}).json() == [3, 4, 5]
    assert client.get(NUMBERS, params={"cursor": cursor, "odd": True}).status_code == 422
    assert listed.client("two").get(NUMBERS, params={"cursor": cursor}).status_code == 403
    assert client.get("/v1/projects/other/numbers", params={"cursor": cursor}).status_code == 403


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", base64.urlsafe_b64encode(b"\0" * 16 + b'[0,"",""]').decode(), "é", "=" * 9])
def test_a_cursor_that_is_none_is_refused(cursor: str, listed: Served) -> None:
    assert listed.client().get(NUMBERS, params={"cursor": cursor}).status_code == 422


def test_a_changed_cursor_is_refused(listed: Served) -> None:
    client = listed.client()
    cursor = client.get(NUMBERS).links["next"]["url"].partition("cursor=")[2]
    content = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    for place in range(len(content)):
        content[place] ^= 1
        changed = base64.urlsafe_b64encode(content).decode()
        content[place] ^= 1
        assert client.get(NUMBERS, params={"cursor": changed}).status_code == 422


def test_what_a_client_has_already_is_not_sent_again(listed: Served) -> None:
    client = listed.client()
    tag = client.get(CONTENT).headers["etag"]
    for known, status in ((tag, 304), (f"W/{tag}", 304), ("*", 304), (f'"x", {tag}', 304), ('"x"', 200)):
        answer = client.get(CONTENT, headers={"If-None-Match": known})
        assert (answer.status_code, answer.headers["etag"]) == (status, tag)


def test_a_change_of_what_changed_meanwhile_is_refused(listed: Served) -> None:
    client = listed.client()
    tag = client.get(CONTENT).headers["etag"]
    assert client.put(CONTENT, params={"text": "second"}, headers={"If-Match": tag}).status_code == 200
    stale = client.put(CONTENT, params={"text": "third"}, headers={"If-Match": tag})
    assert (stale.status_code, stale.json()["type"]) == (412, "/problems/changed-meanwhile")
    assert client.get(CONTENT).json() == {"text": "second"}
    assert client.get(CONTENT).headers["etag"] != tag
