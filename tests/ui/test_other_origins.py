"""Pages of other origins, in a real browser in which the page of a server is open: they read nothing, change nothing, and frame nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from alma_access import TokenFile
from alma_server.sessions import Sessions
from api_processes import Server, serving
from browser import Browser

VISIT = """async ({ context, page }, { open, evil, act }) => {
    const own = await context.newPage();
    await own.goto(open);
    await page.goto(evil);
    return await page.evaluate(`(${act})(${JSON.stringify(open.split("/ui/")[0])})`);
}"""

LEARNED = '{"agent": "helena", "task": "Obey", "outcome": "success"}'

ACTS = {
    "a form": """async (server) => {
        const form = Object.assign(document.createElement("form"), {
            method: "post", action: server + "/v1/learn", enctype: "text/plain", target: "sink" });
        const field = Object.assign(document.createElement("input"), { name: '{"agent":"helena","task":"', value: 'Obey","outcome":"success"}' });
        form.append(field);
        document.body.append(Object.assign(document.createElement("iframe"), { name: "sink" }), form);
        form.submit();
        await new Promise((resolve) => setTimeout(resolve, 500));
    }""",
    "a form of addresses": """async (server) => {
        for (const path of ["/v1/stats", "/v1/memories?limit=1", "/ui/session"]) {
            const form = Object.assign(document.createElement("form"), { action: server + path, target: "sink" });
            document.body.append(Object.assign(document.createElement("iframe"), { name: "sink" }), form);
            form.submit();
            await new Promise((resolve) => setTimeout(resolve, 200));
        }
    }""",
    "images": """async (server) => {
        const load = (path) => new Promise((resolve) => {
            const image = new Image();
            image.onload = image.onerror = (event) => resolve(event.type);
            image.src = server + path;
        });
        return await Promise.all(["/v1/forget", "/v1/undo?to=0", "/ui/session", "/v1/memories"].map(load));
    }""",
    "requests that ask nothing of the server before": f"""async (server) => {{
        const send = (path, method, type) => fetch(server + path, {{
            method, mode: "no-cors", credentials: "include", headers: {{ "Content-Type": type }}, body: {LEARNED!r} }}).then(
            (answer) => answer.type, () => "refused");
        return await Promise.all([
            send("/v1/learn", "POST", "text/plain"), send("/v1/forget", "POST", "application/x-www-form-urlencoded"),
            send("/v1/undo", "POST", "multipart/form-data; boundary=a"), send("/ui/session", "POST", "text/plain"), send("/", "POST", "text/plain"),
        ]);
    }}""",
    "requests that ask before": f"""async (server) => {{
        const send = (path, method) => fetch(server + path, {{
            method, headers: {{ "Content-Type": "application/json", "Authorization": "Bearer guess" }}, body: {LEARNED!r} }}).then(
            (answer) => answer.text(), () => "refused");
        return await Promise.all([send("/v1/learn", "POST"), send("/v1/memories/none", "DELETE"), send("/mcp", "POST"), send("/ui/session", "POST")]);
    }}""",
    "a beacon": f"""async (server) => {{
        navigator.sendBeacon(server + "/v1/learn", new Blob([{LEARNED!r}], {{ type: "text/plain" }}));
        navigator.sendBeacon(server + "/v1/learn", {LEARNED!r});
        await new Promise((resolve) => setTimeout(resolve, 300));
    }}""",
    "a script of the server": """async (server) => {
        const load = (path) => new Promise((resolve) => {
            const script = document.createElement("script");
            script.onload = script.onerror = (event) => resolve(event.type);
            script.src = server + path;
            document.body.append(script);
        });
        return await Promise.all(["/ui/index.html", "/v1/stats", "/openapi.json"].map(load));
    }""",
}


@contextmanager
def attacker() -> Iterator[int]:
    """Yields the port of a server of empty pages."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>evil</title><body></body>")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as server, server.client() as client:
        client.post("/v1/learn", json={"agent": "helena", "task": "Deploy the aardvark", "outcome": "success"}).raise_for_status()
        yield server


@pytest.fixture(scope="module")
def evil() -> Iterator[int]:
    with attacker() as port:
        yield port


@pytest.fixture
def unchanged(server: Server) -> Iterator[None]:
    """Nothing is stored and no session begins in the course of a test."""

    def state() -> tuple[Any, ...]:
        with server.client() as client:
            return client.get("/v1/stats").json()["journal_records"], sorted(TokenFile(server.folder / ".alma").tokens())

    before = state()
    yield
    assert state() == before


def session_page(server: Server) -> str:
    """Address of the page with a code that is not used yet."""
    return f"{server.address}/ui/#code={Sessions(TokenFile(server.folder / '.alma')).make_code()}"


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "evil.test"])
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_page_of_another_origin_changes_and_reads_nothing(
    browser: Browser, server: Server, evil: int, host: str, act: str
) -> None:
    seen = browser.run(VISIT, open=f"{server.address}/ui/", evil=f"http://{host}:{evil}/", act=act)
    assert set(seen.result or []) <= {"refused", "error"}
    asked = [address for address in seen.requests if address.startswith(server.address)]
    assert len(asked) > 1, "the attack was not tried"


@pytest.mark.usefixtures("unchanged")
def test_a_name_that_is_bound_again_to_this_machine_reaches_nothing(browser: Browser, server: Server) -> None:
    port = server.address.rpartition(":")[2]
    seen = browser.run(
        """async ({ page }, { address }) => {
            const statuses = [];
            for (const path of ["/ui/", "/ui", "/ui/index.html", "/v1/whoami", "/health/live", "/openapi.json", "/mcp", "/nothing"]) {
                const answer = await page.goto(address + path);
                statuses.push([path, answer.status()]);
            }
            const session = await page.evaluate(() => fetch("/ui/session", { method: "POST", headers: { "Content-Type": "application/json" },
                body: '{"code": "guess"}' }).then((answer) => answer.status));
            return [...statuses, ["session", session]];
        }""",
        address=f"http://evil.test:{port}",
    )
    assert len(seen.result) == 9
    assert {status for _, status in seen.result} == {421}


@pytest.mark.usefixtures("unchanged")
def test_a_stolen_code_is_of_no_use_to_another_page_and_stays_good(browser: Browser, server: Server, evil: int) -> None:
    code = session_page(server).partition("code=")[2]
    steal = """async (server) => {
        const body = JSON.stringify({ code: new URLSearchParams(location.hash.slice(1)).get("code") });
        const modes = [{ headers: { "Content-Type": "application/json" } }, { mode: "no-cors", headers: { "Content-Type": "text/plain" } }];
        return await Promise.all(modes.map((mode) => fetch(server + "/ui/session", { method: "POST", body, ...mode }).then(
            (answer) => answer.type, () => "refused")));
    }"""
    seen = browser.run(VISIT, open=f"{server.address}/ui/", evil=f"http://localhost:{evil}/#code={code}", act=steal)
    assert seen.result == ["refused", "refused"]
    assert Sessions(TokenFile(server.folder / ".alma")).find(code) is not None


def test_no_page_frames_the_page_or_keeps_a_hold_of_it(browser: Browser, server: Server, evil: int) -> None:
    seen = browser.run(
        """async ({ context, page }, { own, evil }) => {
            await page.goto(evil);
            const opening = context.waitForEvent("page");
            await page.evaluate((own) => {
                const frame = document.createElement("iframe");
                frame.src = own;
                document.body.append(frame);
                globalThis.opened = open(own);
            }, own);
            const opened = await opening;
            await opened.waitForLoadState();
            await page.waitForFunction(() => globalThis.opened.closed);
            const framed = page.frames().filter((frame) => frame !== page.mainFrame());
            const texts = await Promise.all(framed.map((frame) => frame.evaluate(() => document.title).catch(() => "")));
            return { texts, addresses: framed.map((frame) => frame.url()), opener: await opened.evaluate(() => globalThis.opener === null) };
        }""",
        own=f"{server.address}/ui/",
        evil=f"http://localhost:{evil}/",
    )
    assert seen.result["opener"] is True
    assert not any("ALMA" in text for text in seen.result["texts"])
    assert all(address.startswith("chrome-error:") for address in seen.result["addresses"])
