"""What stands in the place of a secret."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_guard import Redactor
from alma_guard.personal import personal

PIECES = st.sampled_from(
    [
        "password",
        "token",
        "=",
        ": ",
        " is ",
        '"',
        "'",
        "ghp_" + "aB3" * 12,
        "hunter2",
        "Xk29dkslq7Zk2VxT9mLw",
        "Bearer ",
        "\n",
        "://u:",
        "@host",
        "[secret:token:",
        "]",
        " ",
    ]
)


@given(st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    redact = Redactor(b"k", with_personal=True)

    assert redact(redact(text)) == redact(text)


def test_equal_secrets_stay_equal_and_others_differ() -> None:
    redact = Redactor(b"k")

    first, again, other = redact("token=aB3dE6gH9jK2mN5p"), redact("token=aB3dE6gH9jK2mN5p"), redact("token=zY3dE6gH9jK2mN5p")

    assert re.fullmatch(r"token=\[secret:token:[0-9a-f]{6}\]", first)
    assert first == again != other


def test_two_stores_have_nothing_in_common() -> None:
    assert Redactor(b"one")("password=hunter2") != Redactor(b"two")("password=hunter2")


def test_a_value_is_known_by_the_name_that_it_stands_under() -> None:
    redact = Redactor(b"k")

    assert redact.named("db_password", "hunter2").startswith("[secret:password:")
    assert redact.named("colour", "hunter2") == "hunter2"
    assert redact.named("db_password", redact.named("db_password", "hunter2")) == redact.named("db_password", "hunter2")


def test_personal_data_stays_unless_it_is_asked_for() -> None:
    text = "Ann (ann@example.org, +49 30 12345678) paid with 4111 1111 1111 1111 from DE89 3704 0044 0532 0130 00, number 123-45-6789"

    assert Redactor(b"k")(text) == text
    found = re.findall(r"\[personal:(\w+):", Redactor(b"k", with_personal=True)(text))
    assert found == ["mail", "phone", "card", "iban", "national_number"]


def test_numbers_without_their_checksum_are_no_cards_and_no_accounts() -> None:
    text = "Order 4111 1111 1111 1112 of DE88 3704 0044 0532 0130 00"

    assert Redactor(b"k", with_personal=True)(text) == text


def test_the_time_that_many_secrets_take_grows_with_their_number() -> None:
    redact = Redactor(b"k")

    def seconds(count: int) -> float:
        text = 'password="a' * count
        begun = time.process_time()
        redact(text)
        return time.process_time() - begun

    seconds(1_000)
    assert seconds(16_000) < 5 * seconds(4_000) + 1


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("phone", "Tel. 06 12 34 56 78"),
        ("phone", "Telefon: 0171 2345678"),
        ("phone", "电话：138 0013 8000"),
        ("phone", "Ring 03-1234-5678"),
        ("national_number", "DNI: 12345678Z"),
        ("national_number", "CPF 111.444.777-35"),
        ("national_number", "PESEL 44051401359"),
        ("national_number", "NI number AB 12 34 56 C"),
        ("national_number", "身份证号 11010519491231002X"),
        ("national_number", "codice fiscale RSSMRA85T10A562S"),
        ("national_number", "passport number C01X00T47"),
        ("national_number", "Her id is 11010519491231002X"),
        ("mail", "连系zhang@example.org吧"),
    ],
)
def test_numbers_of_other_countries_are_known_by_their_name_or_checksum(kind: str, text: str) -> None:
    assert f"[personal:{kind}:" in Redactor(b"k", with_personal=True)(text)


@pytest.mark.parametrize(
    "text",
    [
        "git clone git@host.example:shop/shop.git",
        "order 12345678A",
        "row 111.444.777-30",
        "part 11010519491231002Y",
        "at 2026-11-26T02:24:03",
        "room 0123-12",
        "RFC 5322, SIN 0.5",
        "phone number of the shop: see page 12",
    ],
)
def test_numbers_that_name_no_person_stay(text: str) -> None:
    assert Redactor(b"k", with_personal=True)(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "sin 0.123456 cos 0.98",
        "PAN OS 10.2.3456",
        "pan 12345",
        "Handy 2023-12-24 gekauft",
        "mobile 2024.05.01",
        "sin 10000 euros",
    ],
)
def test_a_word_that_is_also_the_name_of_a_number_needs_a_mark_and_a_date_is_no_phone(text: str) -> None:
    assert list(personal(text)) == []


def test_names_without_end_hide_no_secret_behind_them() -> None:
    text = "key=" * 5_000 + ' password: "correct7horse9battery"'

    found = Redactor(b"k" * 32)(text)

    assert "correct7horse9battery" not in found
    assert found.startswith("key=key=")


def test_each_name_of_a_file_on_one_line_is_read() -> None:
    secrets = [f"q7Xw{number:03}Zr5Lm9Tk2Vb8" for number in range(100)]

    found = Redactor(b"k" * 32)("{" + ",".join(f'"api_key{number}":"{secret}"' for number, secret in enumerate(secrets)) + "}")

    assert [secret for secret in secrets if secret in found] == []


@pytest.mark.parametrize("text", ["SIN 046 454 286", "PAN ABCPE1234F", "SIN: 046 454 286", "pan no ABCPE1234F"])
def test_initials_of_a_number_and_a_long_number_are_personal(text: str) -> None:
    assert [kind for *_, kind in personal(text)] == ["national_number"]
