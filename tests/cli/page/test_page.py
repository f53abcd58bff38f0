"""The page says what is stored, and nothing that is stored can be more than text in it."""

import re
from collections.abc import Iterator
from datetime import date, datetime
from enum import Enum
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jinja2 import StrictUndefined, UndefinedError
from markupsafe import Markup
from pydantic import BaseModel

from alma import ALMA, CustomMemoryType
from alma.text import one_line
from alma.types.memories import CustomMemory, Memory
from alma.types.reports import StoreProblem, VerifyReport
from alma_cli.report import html_report, is_report
from alma_cli.report.page import TEMPLATES
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


@pytest.mark.slow
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


def test_a_page_is_recognised_and_nothing_that_only_looks_like_one(page: str) -> None:
    assert is_report(page[:1000])
    assert not is_report('<!doctype html>\n<html lang="en">\n<head>\n<title>ALMA: mine</title>')
    assert not is_report(page[:100])


def test_every_part_is_told(page: str, full: ALMA) -> None:
    text = " ".join(read(page).text)

    for title in (
        "Memories over time",
        "Success over runs",
        "Strategies",
        "used and tried most",
        "retrieved and used",
        "Recent episodes",
        "what they share",
        "Activity",
        "The store",
    ):
        assert title in text
    assert f"{full.get_stats().total:,}" in text
    assert "the store was checked" in text
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
def test_templates_escape_whatever_they_are_given(text: str, attribute: str) -> None:
    made = TEMPLATES.from_string('<p title="{{ attribute }}">{{ text }}{{ kept }}</p>')
    reader = read(made.render(text=text, attribute=attribute, kept=Markup("<b>kept</b>")))

    assert reader.elements == ["p", "b"]
    assert "".join(reader.text) == f"{one_line(text)}kept"
    assert reader.attributes == {"title"}


def test_every_template_escapes_and_lacks_no_name() -> None:
    assert TEMPLATES.autoescape is True
    assert TEMPLATES.undefined is StrictUndefined
    with pytest.raises(UndefinedError):
        TEMPLATES.from_string("{{ missing }}").render()


@pytest.mark.parametrize("name", TEMPLATES.list_templates())
def test_no_template_turns_escaping_off_or_shows_markup_of_its_own_making(name: str) -> None:
    source = (files("alma_cli.report") / "templates" / name).read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe|autoescape|Markup|<script|https?:|xmlattr|tojson", source)


COUNTS: dict[str, Any] = {"projects": 1, "records": 1, "memories": 1, "vectors": 1, "heads": {}}


class Hostile:
    """Puts a long attack in the place of every text, and of every key that is one, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def text(self) -> str:
        self.count += 1
        return f"<img src=x onerror=alert({self.count})>\" onload='\u202e\x1b </style>" + "x" * 2_000

    def of(self, value: Any) -> Any:
        match value:
            case BaseModel():
                fixed = {"kind", "definition"} if isinstance(value, Memory) else set()
                fields = type(value).model_fields
                return value.model_copy(update={name: self.of(getattr(value, name)) for name in fields if name not in fixed})
            case Enum() | bool() | int() | float() | datetime() | date() | None:
                return value
            case str():
                return self.text()
            case dict():
                return {self.of(key): self.of(one) for key, one in value.items()}
            case _:
                return type(value)(map(self.of, value))


@pytest.mark.slow
def test_every_text_of_an_overview_may_be_an_attack(full: ALMA) -> None:
    view = full.overview(top=100)
    note = CustomMemoryType(name="meeting_note", fields={"summary": str}, embedding_fields=["summary"])
    custom = view.memories[0].model_copy(
        update={"memory": CustomMemory(kind=note.name, agent="hal", fields={"summary": "text"}, definition=note)}
    )
    damaged = {"verified": VerifyReport(problems=(StoreProblem(project_id="shop", place="row", what="lost"),), **COUNTS)}
    store = view.store.model_copy(update=damaged)
    hostile = Hostile()
    page = html_report(hostile.of(view.model_copy(update={"memories": (*view.memories, custom), "store": store})))
    reader = read(page)

    assert hostile.count > 1_000
    assert set(reader.elements) <= KNOWN
    assert not [name for name in reader.attributes if name.startswith("on") or name in ("href", "src", "srcset", "action")]
    assert page.count("</style>") == 1
    assert not {"\u202e", "\x1b"} & set(page)
    assert "x" * 320 not in page, "every text is shortened"
    assert "&lt;img src=x onerror=alert(" in page
