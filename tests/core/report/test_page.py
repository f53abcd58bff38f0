"""The page says what is stored, and nothing that is stored can be more than text in it."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma import ALMA, CustomMemoryType
from alma.report import html_report
from alma.report.markup import Html, tag
from memory_strategies import hostile_texts
from report_samples import ATTACKS, filled

VOID = {"meta"}
SVG_VOID = {"rect", "line"}
KNOWN = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "header",
        "section",
        "footer",
        "h1",
        "h2",
        "h3",
        "p",
        "div",
        "span",
        "b",
        "i",
    ),
    *("table", "thead", "tbody", "tr", "th", "td", "details", "summary", "ol", "li", "svg", "g", "rect", "line", "text"),
}


class Reader(HTMLParser):
    """Checks that elements are closed in order, and collects elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID | SVG_VOID
        self.elements.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ALMA]:
    with filled(tmp_path_factory.mktemp("full")) as alma:
        yield alma


@pytest.fixture(scope="module")
def page(full: ALMA) -> str:
    return html_report(full.overview(top=100))


def test_stored_texts_are_text_and_nothing_else(page: str) -> None:
    reader = read(page)

    assert set(reader.elements) <= KNOWN
    assert not [name for name in reader.attributes if name.startswith("on") or name in ("href", "src", "srcset", "action")]
    assert page.count("</style>") == 1
    assert "url(" not in page
    assert "@import" not in page


@pytest.mark.parametrize("attack", ATTACKS[:-1])
def test_an_attack_is_shown_as_it_was_written(page: str, attack: str) -> None:
    assert any(" ".join(attack.split()) in text for text in read(page).text)


def test_characters_that_steer_are_not_in_the_page(page: str) -> None:
    assert not {"\u202e", "\u2066", "\u2028", "\x07", "\x1b"} & set(page)


def test_the_browser_is_forbidden_to_run_or_load_anything(page: str) -> None:
    assert 'http-equiv="Content-Security-Policy" content="default-src &#x27;none&#x27;; style-src' in page


def test_every_part_is_told(page: str, full: ALMA) -> None:
    text = " ".join(read(page).text)

    for title in (
        "Memories over time",
        "Success over runs",
        "Strategies",
        "most evidence",
        "retrieved and used",
        "Recent episodes",
        "what they share",
        "Activity",
        "The store",
    ):
        assert title in text
    assert f"{full.get_stats().total:,}" in text
    assert "the store verifies" in text
    assert "shared with all" in text
    assert "9 attempts" in text


def test_the_same_overview_gives_the_same_page(full: ALMA) -> None:
    view = full.overview()
    assert html_report(view) == html_report(view)


def test_the_overview_goes_through_json(full: ALMA) -> None:
    view = full.overview()
    assert type(view).model_validate_json(view.model_dump_json()) == view


def test_an_empty_project_has_a_page(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="new", embedding_provider="hash") as alma:
        assert "nothing is stored yet" in html_report(alma.overview(verify=False))


def test_kinds_of_the_users_own_are_on_the_page(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        alma.register_memory_type(CustomMemoryType(name="meeting_note", fields={"summary": str}, embedding_fields=["summary"]))
        alma.add("meeting_note", agent="hal", summary="The <b>login</b> form gets a captcha")
        text = " ".join(read(html_report(alma.overview())).text)

    assert "meeting notes" in text
    assert "The <b>login</b> form gets a captcha" in text


def test_problems_of_the_store_are_on_the_page(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        alma.learn("hal", "Test the login form", "success", "by hand")
        with alma._store.storage.database.transaction() as connection:  # type: ignore[attr-defined] # damage is done below the façade
            connection.execute("UPDATE memory SET confidence = 0.5")
        page = html_report(alma.overview())

    assert "found in the store" in page
    assert "confidence" in page


@given(text=hostile_texts, attribute=hostile_texts)
def test_markup_escapes_whatever_it_is_given(text: str, attribute: str) -> None:
    made = tag("p", text, Html("<b>kept</b>"), title=attribute)
    reader = read(made)

    assert reader.elements == ["p", "b"]
    assert "".join(reader.text) == f"{text}kept"
    assert reader.attributes == {"title"}


@given(st.text(max_size=5))
def test_only_html_is_taken_as_it_is(text: str) -> None:
    assert tag("p", Html(text)) == f"<p>{text}</p>"
