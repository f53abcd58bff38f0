"""Sessions of the page in a real browser: a link lets one in, once; nothing of it stays in the address; behind a proxy below a path, too."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alma_access import Access, TokenFile
from alma_access.tokens import microseconds
from alma_server.sessions import CODE_SECONDS, Sessions
from api_processes import Server, serving
from browser import Browser, Seen
from nginx_site import HOST, Site, nginx_before

BELOW = (("location / {", "location /alma/ {"), ("proxy_pass http://alma;", "proxy_pass http://alma/;"))
ENTER = """async ({ context, page }, { open }) => {
    await page.goto(open);
    await page.waitForSelector("main");
    const state = () => page.evaluate(() => ({
        address: location.href, isIn: document.querySelector("nav") !== null, kept: Object.values(sessionStorage).join(),
        lasting: Object.values(localStorage).join(), text: document.body.innerText }));
    const first = await state();
    await page.reload();
    await page.waitForSelector("main");
    const again = await state();
    const other = await context.newPage();
    await other.goto(open);
    await other.waitForSelector("main");
    return { first, again, otherTab: await other.evaluate(() => [document.querySelector("nav") !== null, document.body.innerText]),
        cookies: await context.cookies() };
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Site]]:
    with serving(tmp_path_factory.mktemp("below"), "--allowed-host", HOST, "--root-path", "/alma") as server:
        upstream = server.address.removeprefix("http://").removesuffix("/alma")
        with nginx_before(upstream, tmp_path_factory.mktemp("nginx"), *BELOW) as running:
            yield server, running


def make_code(server: Server, **clock: Any) -> str:
    return Sessions(TokenFile(Path(server.folder, ".alma")), **clock).make_code()


def sessions_of(server: Server) -> list[str]:
    return [name for name in TokenFile(Path(server.folder, ".alma")).tokens() if name.startswith("page-")]


def check_clean(seen: Seen, code: str) -> None:
    assert (seen.violations, seen.errors, seen.pwned) == ([], [], [])
    assert not any(code in address for address in seen.requests if "#" not in address)


def test_a_link_lets_one_tab_in_and_leaves_no_code_behind(browser: Browser, server: Server) -> None:
    code = make_code(server)
    seen = browser.run(ENTER, open=f"{server.address}/ui/#code={code}")
    check_clean(seen, code)
    first, again = seen.result["first"], seen.result["again"]
    assert first["isIn"]
    assert again["isIn"], "a reload keeps the session"
    assert code not in f"{first} {again}"
    assert first["kept"] != ""
    assert first["lasting"] == "" or "alma_" not in first["lasting"]
    assert seen.result["cookies"] == []
    is_in, text = seen.result["otherTab"]
    assert not is_in, "the link is used up"
    assert "used" in text


def test_a_code_that_is_too_old_is_refused_in_words(browser: Browser, server: Server) -> None:
    code = make_code(server, now=lambda: microseconds() - (CODE_SECONDS + 1) * 1_000_000)
    before = sessions_of(server)
    seen = browser.run(ENTER, open=f"{server.address}/ui/#code={code}")
    assert not seen.result["first"]["isIn"]
    assert "too old" in seen.result["first"]["text"]
    assert code not in seen.result["first"]["address"]
    assert sessions_of(server) == before


def test_who_signs_out_has_revoked_the_session(browser: Browser, server: Server) -> None:
    before = set(sessions_of(server))
    browser.run(
        """async ({ page }, { open }) => {
            await page.goto(open);
            await page.getByRole("button", { name: "Sign out" }).click();
            await page.waitForSelector("main.door");
        }""",
        open=f"{server.address}/ui/#code={make_code(server)}",
    )
    assert set(sessions_of(server)) == before


def test_a_session_that_is_revoked_elsewhere_leads_back_to_the_door(browser: Browser, server: Server) -> None:
    before = set(sessions_of(server))
    person = TokenFile(Path(server.folder, ".alma")).add("person", Access(source="person"))
    seen = browser.run(
        """async ({ page }, { open, server, token }) => {
            await page.goto(open);
            await page.waitForSelector("nav");
            const name = JSON.parse(Object.values(await page.evaluate(() => ({ ...sessionStorage })))[0]).name;
            const answer = await fetch(`${server}/v1/tokens/${name}`, { method: "DELETE", headers: { Authorization: `Bearer ${token}` } });
            await page.goto(`${server}/ui/#/memories`);
            await page.waitForSelector("main.door");
            return [answer.status, await page.evaluate(() => Object.values(sessionStorage).join())];
        }""",
        open=f"{server.address}/ui/#code={make_code(server)}",
        server=server.address,
        token=person,
    )
    assert seen.result == [204, ""]
    assert set(sessions_of(server)) == before


def test_the_policy_of_the_page_forbids_what_a_careless_page_would_do(browser: Browser, server: Server) -> None:
    """What the other tests would notice."""
    seen = browser.run(
        """async ({ page }, { open }) => {
            await page.goto(open);
            const tried = await page.evaluate(async () => {
                const attempt = async (act) => { try { await act(); return "done"; } catch (error) { return error.name; } };
                const script = document.createElement("script");
                return {
                    html: await attempt(() => { document.body.innerHTML = "<img src=x onerror=window.pwned=1>"; }),
                    timer: await attempt(() => setTimeout("window.pwned=1", 0)),
                    text: await attempt(() => { script.text = "window.pwned=1"; document.body.append(script); }),
                    policy: await attempt(() => trustedTypes.createPolicy("default", { createHTML: (text) => text })),
                    fetch: await attempt(() => fetch("http://evil.test/")),
                    image: await attempt(() => new Promise((resolve) => {
                        const image = new Image();
                        image.onload = image.onerror = resolve;
                        image.src = "http://evil.test/x.png";
                    })),
                };
            });
            await page.waitForTimeout(200);
            return tried;
        }""",
        open=f"{server.address}/ui/",
    )
    assert seen.pwned == []
    assert seen.result.pop("timer") in ("TypeError", "EvalError")
    refused = dict.fromkeys(("html", "text", "policy", "fetch"), "TypeError")
    assert seen.result == {**refused, "image": "done"}
    directives = {violation.split()[0] for violation in seen.violations}
    assert directives >= {"require-trusted-types-for", "trusted-types", "connect-src", "img-src"}


def test_behind_nginx_below_a_path_the_page_works_and_asks_nothing_outside_of_it(
    browser: Browser, below: tuple[Server, Site]
) -> None:
    server, site = below
    base = f"https://{HOST}:{site.port}/alma"
    code = make_code(server)
    seen = browser.run(
        """async ({ page }, { base, code }) => {
            await page.goto(`${base}/ui#code=${code}`);
            await page.waitForSelector("nav");
            await page.evaluate(() => { location.hash = "#/live"; });
            await page.getByRole("heading", { name: "Live" }).waitFor();
            const token = JSON.parse(Object.values(await page.evaluate(() => ({ ...sessionStorage })))[0]).token;
            await page.waitForTimeout(1000);
            const made = await page.evaluate(({ base, token }) => fetch(`${base}/v1/learn`, { method: "POST",
                headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
                body: JSON.stringify({ agent: "helena", task: "Deploy the capybara", outcome: "success" }) }).then((answer) => answer.status),
                { base, token });
            await page.locator("main").getByText("helena").first().waitFor();
            await page.goto(`${base}/ui/#/memories`);
            await page.locator("main").getByText("capybara").first().waitFor();
            return [made, page.url()];
        }""",
        base=base,
        code=code,
    )
    check_clean(seen, code)
    assert seen.result == [201, f"{base}/ui/#/memories"]
    assert [address for address in seen.requests if not address.startswith((f"{base}/", f"{base}/ui#", "data:"))] == []
