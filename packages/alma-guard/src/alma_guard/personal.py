"""Personal data by its shape, its checksum, or the word before it: mail addresses, phone numbers, cards, accounts, national numbers."""

import re
from collections.abc import Iterator

_MAIL = re.compile(r"[A-Za-z0-9](?:[\w.%+-]{0,62}[\w])?@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}(?![A-Za-z0-9_])(?!:[\w~.-]*/)")
"""Not the place of a repository, `git@host.example:shop/shop.git`."""

_PHONE = re.compile(
    r"""
    (?<![\w.+-])(?<!\d\ )(?:\+\d{1,3}|\(\+?\d{1,4}\)|00[1-9]\d?)(?:[ ./-]?\(?\d{1,5}\)?){2,6}(?![\w-])    # with the code of a country or an area
  | (?<![\w.+-])\(?[2-9]\d{2}\)?[\ .-]\d{3}[\ .-]\d{4}(?![\w-])                                  # of North America
  | (?<![\w.+:/-])(?<!\d\ )0(?:[1-9](?:[\ .-]\d{2}){4}|\d{1,3}-\d{3,4}-\d{4})(?![\w:-])              # of France, of Japan and Korea
    """,
    re.VERBOSE,
)
_DIALLED = re.compile(r"(?<![\w.(+])\(?\+?\d[\d ()./-]{5,18}\d(?![\w-])")
_CALLED = re.compile(
    r"""
    (?:\b(?:tel|phone|mobile?|cell|fax|handy|whatsapp|telefon[eo]?|t[ée]l[ée]phone|tel[ée]fono|m[óo]vil|celular|telemóvel|cellulare|тел(?:ефон)?)
      |电话|電話|手机|手機|携帯|전화)
    [ ]?(?:number|nr|no|n°|nummer|номер)?[.:=：]{0,2}\s{0,2}(?:is\s)?$
    """,
    re.VERBOSE,
)
"""The name of a phone number, at the end of what stands before it."""

_DATE = re.compile(r"(?:19|20)\d{2}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d{2}")
_DIGITS = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_SSN = re.compile(r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_NUMBER = re.compile(r"(?<![\w.-])(?:[A-Z]{1,2}[ ]|[A-Z]{1,6})?\d(?:[ .-]?\d|[A-Z](?![a-z])){4,20}(?:[ -]?[A-Z]\b)?(?![\w-])")
_NUMBERED = re.compile(
    r"""
    (?:\b(?:ssn|tfn|nino|nhs|dni|nie|nif|cpf|cnpj|nir|bsn|pesel|cnp|cpr|ahv|curp|bvn|nric|hetu|idnr|egn|oib|aadhaar
         |social\ (?:security|insurance)|national\ (?:insurance|id(?:entity)?)|passport|reisepass(?:nummer)?|pasaporte|passeport|passaporto
         |personalausweis(?:nummer)?|steuer-?id|sozialversicherungsnummer|sécurité\ sociale|sécu|codice\ fiscale|burgerservicenummer
         |personnummer|fødselsnummer|henkilötunnus|rodné\ číslo|driver'?s?\ licen[cs]e|инн|снилс|паспорт)
      |\b(?:sin|ni|pan)(?=[ ]?(?:number|no\b|nr\b|nummer|n°|card|[:=：]))
      |身份证号?码?|身分證字號|护照号?码?|マイナンバー|주민등록번호)
    [ ]?(?:number|no|nr|nummer|n°|card)?[.:=：]{0,2}\s{0,2}(?:(?:is|ist|est|es|è)\s)?$
    """,
    re.VERBOSE,
)
"""The name of a national number, at the end of what stands before it."""

_INITIALS = ("SIN ", "NI ", "PAN ")
_LONG = 8
_FEWEST_DIGITS = 4
_FOUR_DIGITS = re.compile(r"\d(?:[ .-]?[A-Z]?\d){3}")
_BEFORE = 40
"""Characters before a number in which its name is looked for."""

_CHINESE_ID = re.compile(r"(?<![\w-])[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx](?![\w-])")
_ITALIAN_CODE = re.compile(r"(?<![\w-])[A-Z]{6}\d{2}[ABCDEHLMPRST]\d{2}[A-Z]\d{3}[A-Z](?![\w-])")
_BRAZILIAN = re.compile(r"(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d{2}(?![\w-])")
_SPANISH = re.compile(r"(?<![\w-])[XYZ]?\d{7,8}-?[A-Z](?![\w-])")
_SPANISH_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"


def personal(text: str) -> Iterator[tuple[int, int, str]]:
    """Returns where personal data begins and ends, and its kind. Cards: ISO/IEC 7812 (Luhn); accounts: ISO 13616 (modulo 97)."""
    if "@" in text:
        yield from ((*found.span(), "mail") for found in _MAIL.finditer(text))
    if not _FOUR_DIGITS.search(text):
        return
    for found in _IBAN.finditer(text):
        if _is_iban(found[0].replace(" ", "")):
            yield *found.span(), "iban"
    for found in _DIGITS.finditer(text):
        if _is_card(re.sub("[ -]", "", found[0])):
            yield *found.span(), "card"
    yield from _national_numbers(text)
    yield from _phones(text)


def _national_numbers(text: str) -> Iterator[tuple[int, int, str]]:
    yield from ((*found.span(), "national_number") for found in _SSN.finditer(text))
    for found in _NUMBER.finditer(text):
        is_named = _NUMBERED.search(_said_before(text, found)) or _is_behind_initials(text, found)
        if (is_named and _digits(found) >= _FEWEST_DIGITS) or any(
            shape.fullmatch(found[0]) and is_one(found[0]) for shape, is_one in _CHECKED
        ):
            yield *found.span(), "national_number"


def _is_behind_initials(text: str, found: re.Match[str]) -> bool:
    """Returns True for a long number behind the initials of one. In small letters, without a mark between, they are words."""
    return len(found[0]) >= _LONG and "." not in found[0] and text[: found.start()].endswith(_INITIALS)


def _phones(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _DIALLED.finditer(text):
        if 7 <= _digits(found) <= 15 and not _DATE.fullmatch(found[0]) and _CALLED.search(_said_before(text, found)):
            yield *found.span(), "phone"
    for found in _PHONE.finditer(text):
        if 8 <= _digits(found) <= 15:
            yield *found.span(), "phone"


def _digits(found: re.Match[str]) -> int:
    return sum(map(str.isdigit, found[0]))


def _said_before(text: str, found: re.Match[str]) -> str:
    return text[max(found.start() - _BEFORE, 0) : found.start()].lower()


def _is_card(digits: str) -> bool:
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _is_iban(account: str) -> bool:
    return 15 <= len(account) <= 34 and int("".join(str(int(character, 36)) for character in account[4:] + account[:4])) % 97 == 1


def _is_chinese_id(number: str) -> bool:
    """ISO 7064, modulo 11-2."""
    weighted = sum(int(digit) * pow(2, 17 - place, 11) for place, digit in enumerate(number[:17]))
    return "10X98765432"[weighted % 11] == number[17].upper()


def _is_brazilian(number: str) -> bool:
    """Both check digits of a CPF."""
    digits = [int(character) for character in number if character.isdigit()]
    checks = [sum(digit * (size + 1 - place) for place, digit in enumerate(digits[:size])) * 10 % 11 % 10 for size in (9, 10)]
    return len(set(digits)) > 1 and checks == digits[9:]


def _is_spanish(number: str) -> bool:
    """The letter of a DNI or NIE."""
    plain = number.replace("-", "")
    digits = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return len(digits) == 8 and _SPANISH_LETTERS[int(digits) % 23] == plain[-1]


_CHECKED = (
    (_CHINESE_ID, _is_chinese_id),
    (_BRAZILIAN, _is_brazilian),
    (_SPANISH, _is_spanish),
    (_ITALIAN_CODE, lambda _: True),
)
"""National numbers that are known without a word before them."""
