"""Secrets that are known by the place where they stand: URLs, headers, SQL, the arguments of commands."""

import re
from collections.abc import Iterator

from alma_guard.values import is_password, is_placeholder, is_token

_URL = re.compile(r"""\b[A-Za-z][A-Za-z0-9+.-]{1,20}://(?P<user>[^\s/:@'"<>]*):(?P<value>[^\s'"<>/]{3,200})@(?=[\w\[{$])""")
_URL_USER = re.compile(r"""\b[A-Za-z][A-Za-z0-9+.-]{1,20}://(?P<value>[^\s/:@'"<>]{16,200})@(?=[\w\[])""")
_HEADER = re.compile(r"""\b(?:bearer|basic|apikey)\s+(?P<value>[A-Za-z0-9._~+/=-]{8,4000})""", re.IGNORECASE)
_COOKIE = re.compile(r"""\bcookie["']?\s*[:=]\s*["']?(?P<pairs>[^\n"']{8,4000})""", re.IGNORECASE)
_PAIR = re.compile(r"[\w.-]*(?:sess|sid|auth|token|jwt|csrf|remember|login)[\w.-]*=(?P<value>[^;\s,]{12,})", re.IGNORECASE)
_SQL = re.compile(r"""\bidentified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?(['"])(?P<value>[^'"\n]{3,200})\1""", re.IGNORECASE)
_COMMAND = re.compile(
    r"""
    \bcurl\b[^\n|;]{0,400}?\s(?:-u|-U|--user|--proxy-user)[\s=]?\s*["']?[^\s:"']{0,100}:(?P<curl>[^\s"']{3,200})
  | \b(?:mysql\w*|mariadb\w*)\b[^\n|;]{0,200}?\s-p["']?(?P<mysql>[^\s"']{4,200})
  | \b(?:sshpass|(?:docker|podman|registry|az)\s+login|mongo\w*)\b[^\n|;]{0,200}?\s-p\s*["']?(?P<login>[^\s"']{4,200})
  | \b(?:redis-cli)\b[^\n|;]{0,200}?\s-a\s+["']?(?P<redis>[^\s"']{4,200})
  | \bldap\w+\b[^\n|;]{0,200}?\s-w\s+["']?(?P<ldap>[^\s"']{4,200})
    """,
    re.VERBOSE,
)
_PGPASS = re.compile(r"^[\w.*-]{1,100}:(?:543\d|\*):[\w*-]{1,60}:[\w*-]{1,60}:(?P<value>\S{4,200})$", re.MULTILINE)
"""A line of PostgreSQL's file of passwords."""

_ORACLE = re.compile(r"\boracle:\w+:[\w$]{1,60}/(?P<value>[^@\s/]{3,100})@")
_SEED = re.compile(
    r"""\b(?:seed|recovery|mnemonic|backup|secret)[ _-]?phrase["']?\s{0,3}(?:is|are|[:=])\s{0,3}["']?
        (?P<value>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""The words that a wallet is restored from (BIP 39: 12 to 24 words of 3 to 8 letters)."""

_LOGINS = ("curl", "mysql", "mariadb", "sshpass", "login", "mongo", "redis-cli", "ldap")


def placed(text: str) -> Iterator[tuple[int, int, str]]:
    """Returns where secrets stand, and their kinds."""
    if "://" in text and "@" in text:
        yield from _in_urls(text)
    low = text.lower()
    if "bearer" in low or "basic" in low or "apikey" in low:
        for found in _HEADER.finditer(text):
            if is_token(found["value"], 12):
                yield *found.span("value"), "token"
    if "cookie" in low:
        for header in _COOKIE.finditer(text):
            for pair in _PAIR.finditer(text, header.start("pairs"), header.end("pairs")):
                if is_token(pair["value"], 12):
                    yield *pair.span("value"), "cookie"
    if "identified" in low:
        for found in _SQL.finditer(text):
            if not is_placeholder(found["value"]):
                yield *found.span("value"), "password"
    if ":543" in text:
        yield from ((*found.span("value"), "password") for found in _PGPASS.finditer(text) if is_password(found["value"], 4))
    if "@" in text and "oracle:" in low:
        yield from ((*found.span("value"), "password") for found in _ORACLE.finditer(text) if not is_placeholder(found["value"]))
    if "phrase" in low:
        yield from ((*found.span("value"), "seed_phrase") for found in _SEED.finditer(text))
    if any(map(low.__contains__, _LOGINS)):
        for found in _COMMAND.finditer(text):
            name = found.lastgroup or ""
            if is_password(found[name], 4):
                yield *found.span(name), "password"


def _in_urls(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _URL.finditer(text):
        if (
            found["value"] != found["user"]
            and not is_placeholder(found["value"])
            and found["value"].lower() not in ("password", "pass", "pwd", "secret", "token")
        ):
            yield *found.span("value"), "password"
    for found in _URL_USER.finditer(text):
        if is_token(found["value"], 16):
            yield *found.span("value"), "token"
