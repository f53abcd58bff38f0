"""Chats in plain text: the speaker of each line, in any script and form, and the day on which it was said."""

from pathlib import Path

import pytest

from alma import ALMA
from alma.ingestion import IngestReport, ingest_conversations


@pytest.fixture
def alma(tmp_path: Path):
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as opened:
        yield opened


def read(alma: ALMA, folder: Path, text: str, **known: str) -> tuple[IngestReport, list[tuple[str, str]]]:
    (folder / "chat.txt").write_text(text, encoding="utf-8")
    report = ingest_conversations(folder / "chat.txt", alma=alma, **known)
    held = sorted(alma.list_memories("conversation", user_id=known.get("user_id")), key=lambda one: one.held_at)
    return report, [(turn.speaker, turn.text) for one in held for turn in one.turns]


NAMED = {
    "chinese": ("小明：你好\n小红：你好\n小明：我对花生过敏\n小李：记住了", "小明 小红 小明 小李"),
    "arabic": ("أحمد: مرحبا\nسارة: أهلا\nأحمد: عندي حساسية", "أحمد سارة أحمد"),
    "hindi": ("राम: नमस्ते\nसीता: जी\nराम: ठीक", "राम सीता राम"),
    "greek, no space": ("Άννα:Γεια\nΝίκος:Γεια\nΆννα:Αντίο", "Άννα Νίκος Άννα"),
    "nicks": ("anna_92: hi\nbob: yo\nanna_92: ok\nbob: fine\ncem: no nuts for me", "anna_92 bob anna_92 bob cem"),
    "phone numbers": ("+49 170 1234567: hi\nBo: yo\n+49 170 1234567: ok", "+49_170_1234567 Bo +49_170_1234567"),
    "emoji": ("Zoë 🌸: hi\n🦄: yo\nZoë 🌸: ok", "Zoë_🌸 🦄 Zoë_🌸"),
    "titles": ("Dr. Özge Şahin (she/her): a\nBo: b\nDr. Özge Şahin (she/her): c", "Dr._Özge_Şahin_(she/her) Bo Dr._Özge_Şahin_(she/her)"),
    "roles as headings": ("## User\n\na\n\n## Assistant\n\nb\n\n## User\n\nc", "User Assistant User"),
    "roles in bold": ("**User**\n\na\n\n**Claude**\n\nb\n\n**User**\n\nc", "User Claude User"),
    "roles alone": ("User:\na\n\nAssistant:\nb\n\nUser:\nc", "User Assistant User"),
    "irc": ("[09:15] <ann> hi\n[09:16] <bo> re: x\n[09:17] <ann> ok", "ann bo ann"),
    "name above": ("Ann  9:15 AM\na\nBo  9:16 AM\nb\nAnn  9:17 AM\nc", "Ann Bo Ann"),
    "name and time in brackets": ("Ann, [12.03.24 09:15]\na\n\nBo, [12.03.24 09:16]\nb\n\nAnn, [12.03.24 09:17]\nc", "Ann Bo Ann"),
    "a name of eleven words": (
        "Bo: a\nMaría del Carmen Fernández de la Vega y Ortiz de Zárate: b\nBo: c",
        "Bo María_del_Carmen_Fernández_de_la_Vega_y_Ortiz_de_Zárate Bo",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", NAMED)
def test_each_line_is_of_the_speaker_whom_it_names(form: str, alma: ALMA, tmp_path: Path) -> None:
    text, speakers = NAMED[form]
    report, turns = read(alma, tmp_path, text)

    assert [speaker for speaker, _ in turns] == [
        name.replace("_9", "@").replace("_", " ").replace("@", "_9") for name in speakers.split()
    ]
    assert report.skipped == {}


DATED = {
    "[2024-03-12, 09:15] {}: {}": "2024-03-12T09:15",
    "2024-03-12T09:15:30+02:00 {}: {}": "2024-03-12T07:15",
    "13/03/24, 21:15 - {}: {}": "2024-03-13T21:15",
    "3/13/24, 9:15\u202fPM - {}: {}": "2024-03-13T21:15",
    "\u200e[13.03.2024, 09:15:01] {}: {}": "2024-03-13T09:15",
    "2024/3/12 下午9:15 - {}: {}": "2024-03-12T21:15",
    "12 March 2024, 09:15 - {}: {}": "2024-03-12T09:15",
    "09:15, 13.03.2024 - {}: {}": "2024-03-13T09:15",
    "{} (2024-03-12 09:15): {}": "2024-03-12T09:15",
    "**{}** [2024-03-12 09:15]: {}": "2024-03-12T09:15",
}


@pytest.mark.parametrize("form", DATED)
def test_a_chat_was_held_when_its_lines_say(form: str, alma: ALMA, tmp_path: Path) -> None:
    said = [("Жанна", "a"), ("+49 170 1234567", "b"), ("Жанна", "We decided to move to Porto.")]
    report, turns = read(alma, tmp_path, "\n".join(form.format(*each) for each in said))

    assert turns == said
    assert f"{alma.list_memories('conversation')[0].held_at:%Y-%m-%dT%H:%M}" == DATED[form]
    assert f"{report.domain_knowledge[0].last_verified:%Y-%m-%dT%H:%M}" == DATED[form]


def test_days_and_months_are_told_apart_by_the_order_of_the_lines(alma: ALMA, tmp_path: Path) -> None:
    read(alma, tmp_path, "11/02/2024, 09:15 - Ann: a\n12/02/2024, 09:15 - Bo: b\n01/03/2024, 09:15 - Ann: c")
    assert sorted(f"{one.held_at:%m-%d}" for one in alma.list_memories("conversation")) == ["02-11", "03-01"]


def test_a_chat_of_several_days_is_found_on_each_of_them(alma: ALMA, tmp_path: Path) -> None:
    read(
        alma,
        tmp_path,
        "[2024-03-12, 23:50] Ann: a\n[2024-03-13, 00:10] Bo: b\n[2024-05-01, 09:15] Ann: c\n[2024-05-01, 09:16] Bo: d",
    )
    held = sorted(alma.list_memories("conversation"), key=lambda one: one.held_at)
    assert [(f"{one.held_at:%m-%d}", len(one.turns)) for one in held] == [("03-12", 2), ("05-01", 2)]


def test_a_line_between_days_dates_the_times_after_it(alma: ALMA, tmp_path: Path) -> None:
    text = "2024/03/12(火)\n09:15\t花子\tやあ\n09:16\t太郎\tやあ\n\n2024/03/14(木)\n10:00\t花子\tまた"
    _, turns = read(alma, tmp_path, text)
    assert [speaker for speaker, _ in turns] == ["花子", "太郎", "花子"]
    assert sorted(one.held_at.day for one in alma.list_memories("conversation")) == [12, 14]


def test_a_line_without_a_speaker_is_no_ones_words_and_is_reported(alma: ALMA, tmp_path: Path) -> None:
    text = (
        "12/31/23, 9:15 PM - Messages are encrypted.\n12/31/23, 9:15 PM - Ann: hi\nFlour: 200 g\n"
        "12/31/23, 9:16 PM - Bo: yo\n1/1/24, 9:16 AM - Bo added Cem\n1/1/24, 9:17 AM - Ann: ok"
    )
    report, turns = read(alma, tmp_path, text)

    assert turns == [("Ann", "hi\nFlour: 200 g"), ("Bo", "yo"), ("Ann", "ok")]
    assert list(report.skipped.values()) == ["without a speaker, so left out: lines 1, 5"]


def test_a_heading_in_an_answer_of_a_program_is_no_persons_statement(alma: ALMA, tmp_path: Path) -> None:
    text = "User: help\nAssistant: Sure.\nNote: We decided to use Oracle.\nUser: thanks\nMaría: I am allergic to nuts."
    report, turns = read(alma, tmp_path, text, user_id="jo")

    assert ("María", "I am allergic to nuts.") in turns
    assert report.domain_knowledge == []


@pytest.mark.parametrize(
    "text",
    [
        "Title: a\nAuthor: b\nDate: c\nSubject: d\nNote: e",
        "He asked: why?\nShe said: because.\nHe asked: really?\nI told her: yes.",
        "# API\n\n## Parameters\n\nx\n\n## Returns\n\n## Parameters\n\n## Returns\n",
        "User: one\nfoo\n",
        "host: a\nport: 80\nuser: b\npath: /c",
    ],
)
def test_a_document_is_no_chat(text: str, alma: ALMA, tmp_path: Path) -> None:
    report, turns = read(alma, tmp_path, text)
    assert turns == []
    assert next(iter(report.skipped.values())).startswith("no chat")
