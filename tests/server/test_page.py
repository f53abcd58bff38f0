"""The page at `/ui/`: its files, the headers of every answer, and the session that a one-time code begins."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from alma_access import RIGHTS, Access, GivenTokens, TokenFile
from alma_access.tokens import microseconds
from alma_server.app import create_app
from alma_server.page import assets
from alma_server.sessions import CODE_SECONDS, SESSION_SECONDS, Sessions, is_session
from alma_server.settings import ServerSettings
from api_serving import Opening, Served

ADDRESS = "http://127.0.0.1:8765"
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}
ELSEWHERE = (
    {"Origin": "http://127.0.0.1:3000"},
    {"Origin": "http://localhost:8765"},
    {"Origin": "null"},
    {"Origin": ADDRESS, "Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "https://evil.example"},
)


@pytest.fixture
def sessions(served: Served) -> Sessions:
    return Sessions(served.tokens)


@pytest.fixture
def visitor(served: Served) -> TestClient:
    return TestClient(served.app, base_url=ADDRESS, raise_server_exceptions=False)


def exchange(visitor: TestClient, code: str, **headers: str) -> Any:
    return visitor.post("/ui/session", json={"code": code}, headers=headers)


@pytest.mark.parametrize(
    "path",
    [
        *("/ui/", "/ui", "/ui/nothing.js", "/ui/session", "/ui/../tokens.json", "/", "/v1/whoami", "/v1/memories/none"),
        *("/health/live", "/openapi.json", "/metrics", "/nothing"),
    ],
)
@pytest.mark.parametrize("host", ["127.0.0.1:8765", "evil.example"])
def test_every_answer_forbids_a_browser_all_that_the_page_does_without(visitor: TestClient, path: str, host: str) -> None:
    headers = visitor.get(path, headers={"Host": host}, follow_redirects=False).headers
    stated = (rule.strip().partition(" ") for rule in headers["content-security-policy"].split(";"))
    assert {name: value for name, _, value in stated} == POLICY
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in headers
    assert "access-control-allow-origin" not in headers


def test_the_page_is_there_without_a_token_and_is_not_kept(visitor: TestClient) -> None:
    page = visitor.get("/ui/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-store"
    assert visitor.get("/ui", follow_redirects=False).headers["location"] == "/ui/"


def test_the_address_of_the_server_leads_a_browser_to_the_page_and_names_it_to_programs(visitor: TestClient) -> None:
    led = visitor.get("/", headers={"Accept": "text/html,*/*"}, follow_redirects=False)
    assert (led.status_code, led.headers["location"]) == (303, "/ui/")
    assert visitor.get("/").json() == {"page": "/ui/", "openapi": "/openapi.json"}
    assert all(visitor.get(address).status_code == 200 for address in visitor.get("/").json().values())


def test_a_file_of_the_page_is_kept_for_ever_and_packed_where_a_browser_unpacks_it(visitor: TestClient) -> None:
    name = next(name for name in assets() if name.endswith(".js"))
    for packing in ("gzip, br", "identity"):
        file = visitor.get(f"/ui/{name}", headers={"Accept-Encoding": packing})
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert file.headers.get("content-encoding") == ("gzip" if "gzip" in packing else None)
        assert file.content == assets()[name].content


@pytest.mark.parametrize("name", ["tokens.json", "..%2Fpage.py", "%2e%2e/page.py", "%2Fetc%2Fpasswd", "index.html%00.js"])
def test_nothing_but_the_files_of_the_page_is_served(visitor: TestClient, name: str) -> None:
    assert visitor.get(f"/ui/{name}").status_code == 404


def test_the_page_is_not_kept_under_the_name_of_its_file_either(visitor: TestClient) -> None:
    assert visitor.get("/ui/index.html").headers["cache-control"] == "no-store"


def test_a_page_of_another_port_begins_no_session_where_the_host_has_lost_its_port(
    visitor: TestClient, sessions: Sessions
) -> None:
    there = {"Host": "127.0.0.1", "Origin": "http://127.0.0.1:3000"}
    assert exchange(visitor, sessions.make_code(), **there).status_code == 403
    behind_a_proxy = {**there, "Sec-Fetch-Site": "same-origin"}
    assert exchange(visitor, sessions.make_code(), **behind_a_proxy).status_code == 200


def test_a_server_of_the_api_alone_has_no_page(served: Served) -> None:
    app = create_app(served.alma.for_project, served.tokens, settings=ServerSettings(has_page=False))
    alone = TestClient(app, base_url=ADDRESS)
    assert alone.get("/ui/").status_code == 404
    assert exchange(alone, Sessions(served.tokens).make_code()).status_code == 404


def test_a_code_becomes_the_token_of_a_person_for_half_a_day(visitor: TestClient, sessions: Sessions) -> None:
    began = microseconds()
    made = exchange(visitor, sessions.make_code(), Origin=ADDRESS, **{"Sec-Fetch-Site": "same-origin"})
    assert made.status_code == 200
    bearer = {"Authorization": f"Bearer {made.json()['token']}"}
    who = visitor.get("/v1/whoami", headers=bearer).json()
    assert who["name"] == made.json()["name"]
    assert (who["source"], set(who["rights"]), who["agent"], who["projects"]) == ("person", RIGHTS, "*", ["*"])
    assert 0 <= who["expires"] - began - SESSION_SECONDS * 1_000_000 < 60_000_000
    assert visitor.delete(f"/v1/tokens/{who['name']}", headers=bearer).status_code == 204
    assert visitor.get("/v1/whoami", headers=bearer).status_code == 401


def test_a_code_counts_once(visitor: TestClient, sessions: Sessions) -> None:
    code = sessions.make_code()
    assert exchange(visitor, code).status_code == 200
    again, unknown = exchange(visitor, code), exchange(visitor, "alma_unknown")
    assert again.status_code == unknown.status_code == 401
    assert again.json()["detail"] == unknown.json()["detail"]


def test_of_requests_at_once_one_gets_the_session(visitor: TestClient, sessions: Sessions, served: Served) -> None:
    code = sessions.make_code()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: exchange(visitor, code).status_code, range(8)))
    assert sorted(answers) == [200] + [401] * 7
    assert len(served.tokens.tokens()) == 1


def test_a_code_is_refused_after_a_minute(visitor: TestClient, served: Served) -> None:
    def made_before(seconds: int) -> str:
        return Sessions(served.tokens, now=lambda: microseconds() - seconds * 1_000_000).make_code()

    assert exchange(visitor, made_before(CODE_SECONDS + 1)).status_code == 401
    assert exchange(visitor, made_before(CODE_SECONDS - 20)).status_code == 200


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_a_page_of_another_origin_begins_no_session(visitor: TestClient, sessions: Sessions, headers: dict[str, str]) -> None:
    code = sessions.make_code()
    assert exchange(visitor, code, **headers).status_code == 403
    assert exchange(visitor, code).status_code == 200


def test_behind_a_proxy_the_page_is_of_the_name_that_the_server_knows(served: Served, sessions: Sessions) -> None:
    app = create_app(served.alma.for_project, served.tokens, settings=ServerSettings(allowed_hosts=("alma.example.com",)))
    behind = TestClient(app, base_url="http://alma.example.com")
    assert exchange(behind, sessions.make_code(), Origin="https://alma.example.com").status_code == 200
    assert exchange(behind, sessions.make_code(), Origin="https://other.example.com").status_code == 403


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"])
def test_a_form_begins_no_session(visitor: TestClient, sessions: Sessions, media_type: str) -> None:
    code = sessions.make_code()
    answer = visitor.post("/ui/session", content=f'{{"code": "{code}"}}', headers={"Content-Type": media_type})
    assert answer.status_code == 415
    assert exchange(visitor, code).status_code == 200


def test_a_code_is_no_token_and_a_token_no_code(visitor: TestClient, sessions: Sessions, client: Opening) -> None:
    code = sessions.make_code()
    assert visitor.get("/v1/whoami", headers={"Authorization": f"Bearer {code}"}).status_code == 401
    token = client().headers["authorization"].partition(" ")[2]
    assert exchange(visitor, token).status_code == 401


def test_what_is_kept_of_a_code_and_a_session_tells_neither(visitor: TestClient, sessions: Sessions, served: Served) -> None:
    code = sessions.make_code()
    token = exchange(visitor, code).json()["token"]
    sessions.make_code()
    kept = [file for file in served.tokens.folder.rglob("*.json") if file.is_file()]
    assert kept
    assert not any(secret in file.read_text() for file in kept for secret in (code, token))
    assert {oct(file.stat().st_mode & 0o777) for file in kept} == {"0o600"}


def test_sessions_that_are_over_are_forgotten_and_other_tokens_stay(
    visitor: TestClient, served: Served, sessions: Sessions
) -> None:
    long_ago = served.tokens.folder, lambda: microseconds() - 2 * SESSION_SECONDS * 1_000_000
    past = TokenFile(long_ago[0], now=long_ago[1])
    former = Sessions(past, now=long_ago[1])
    code = former.find(former.make_code())
    assert code is not None
    assert former.begin(code) is not None
    past.add("laptop", code.access, expires=long_ago[1]() + 1_000_000)
    name = exchange(visitor, sessions.make_code()).json()["name"]
    assert set(served.tokens.tokens()) == {"laptop", name}


def test_where_the_environment_gives_the_tokens_there_are_no_sessions(served: Served, sessions: Sessions) -> None:
    app = create_app(served.alma.for_project, GivenTokens(()))
    assert exchange(TestClient(app, base_url=ADDRESS), sessions.make_code()).status_code == 501


def test_a_page_kept_open_does_not_hinder_the_first_token(tmp_path: Path) -> None:
    from api_processes import started
    from mcp_servers import make_project

    make_project(tmp_path)
    tokens = TokenFile(tmp_path / ".alma")
    sessions = Sessions(tokens)
    code = sessions.find(sessions.make_code())
    assert code is not None
    sessions.begin(code)
    with started(tmp_path, None) as server, server.client() as client:
        assert client.get("/v1/whoami").json()["name"] == "default"


def test_a_token_that_is_only_named_like_a_session_is_none(served: Served) -> None:
    tokens = served.tokens
    tokens.add("page-turner", Access(source="person"))
    tokens.add("page-agent", Access(), expires=microseconds() + 60_000_000)
    assert tokens.add_first("default", Access(), is_passing=is_session) is None
    assert [is_session(token) for token in tokens.tokens().values()] == [False, False]
    assert served.client().post("/v1/tokens", json={"name": "page-turner2"}).status_code == 422
