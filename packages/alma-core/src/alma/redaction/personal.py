"""Personal data by its shape, and its checksum where it has one: mail addresses, phone numbers, cards, accounts, national numbers."""

import re
from collections.abc import Iterator

_MAIL = re.compile(r"[A-Za-z0-9](?:[\w.%+-]{0,62}[\w])?@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}\b")
_PHONE = re.compile(
    r"""
    (?<![\w.+-])(?<!\d\ )(?:\+\d{1,3}|\(\+?\d{1,4}\)|00[1-9]\d?)(?:[ ./-]?\(?\d{1,5}\)?){2,6}(?![\w-])    # with the code of a country or an area
  | (?<![\w.+-])\(?[2-9]\d{2}\)?[\ .-]\d{3}[\ .-]\d{4}(?![\w-])                                  # of North America
    """,
    re.VERBOSE,
)
_DIGITS = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_SSN = re.compile(r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")


def personal(text: str) -> Iterator[tuple[int, int, str]]:
    """Returns where personal data begins and ends, and its kind. Cards: ISO/IEC 7812 (Luhn); accounts: ISO 13616 (modulo 97)."""
    if "@" in text:
        yield from ((*found.span(), "mail") for found in _MAIL.finditer(text))
    if not any(map(str.isdigit, text)):
        return
    for found in _IBAN.finditer(text):
        if _is_iban(found[0].replace(" ", "")):
            yield *found.span(), "iban"
    for found in _DIGITS.finditer(text):
        if _is_card(re.sub("[ -]", "", found[0])):
            yield *found.span(), "card"
    yield from ((*found.span(), "national_number") for found in _SSN.finditer(text))
    for found in _PHONE.finditer(text):
        if 8 <= sum(map(str.isdigit, found[0])) <= 15:
            yield *found.span(), "phone"


def _is_card(digits: str) -> bool:
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _is_iban(account: str) -> bool:
    return 15 <= len(account) <= 34 and int("".join(str(int(character, 36)) for character in account[4:] + account[:4])) % 97 == 1
