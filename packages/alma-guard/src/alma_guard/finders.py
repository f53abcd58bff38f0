"""Finds secrets in texts: by their own shape, by the place where they stand, by the name beside them, under a heading of a table.

Each finder yields where a secret begins and ends, and its kind. The shapes of tokens are in `tokens.toml`.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from alma_guard.values import is_bare_secret, is_drawn, is_hexadecimal, is_password, is_placeholder, is_token

SHORTEST = 15
"""No token is shorter."""

_PEM_HINT = "PRIVATE KEY"


@dataclass(frozen=True)
class _Shape:
    """A kind of token: texts one of which stands in every such token, without which nothing is searched for, and what it looks like.

    A loose one names of things may have, too, unless what follows its beginning was drawn by chance.
    """

    kind: str
    hints: list[str]
    source: str
    is_loose: bool

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is needed first."""
        return re.compile(rf"(?<![A-Za-z0-9]){self.source}", re.VERBOSE)


@cache
def _shapes() -> tuple[_Shape, ...]:
    """The shapes of the file, in its order."""
    read = tomllib.loads(files("alma_guard").joinpath("tokens.toml").read_text(encoding="utf-8"))
    return tuple(_Shape(kind, hints.split("|"), source, bool(loose)) for kind, hints, source, *loose in read["tokens"])


def long_words(text: str) -> list[str]:
    """Returns the words of a text that are long enough for a token."""
    return [word for word in text.split() if len(word) >= SHORTEST]


def tokens(text: str, words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Returns where such tokens begin and end in a text with these long words, and their kinds."""
    searched = "\n".join(words)
    if _PEM_HINT in text:
        searched += _PEM_HINT
    if not searched:
        return
    for shape in _shapes():
        if any(map(searched.__contains__, shape.hints)):
            for found in shape.pattern.finditer(text):
                if not shape.is_loose or is_drawn(found[0]):
                    yield found.start(), found.end(), shape.kind


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

_PIPED = re.compile(
    r"""
    \b(?:echo|printf)\s+(?:-\w\s+)?["']?(?:[\w.-]{1,40}:)?(?P<piped>[^\s"'|:]{4,200})["']?\s*\|[^\n|]{0,80}?(?:chpasswd|passwd|sudo\s+-\w*S|--?(?:password-|passwd-)?stdin|--with-token)
  | \bchpasswd\s*<<<\s*["']?[\w.-]{1,40}:(?P<given>[^\s"']{4,200})
  | \bhtpasswd\s+-\w*b\w*\s(?:[^\n|;]{0,100}\s)?["']?(?P<htpasswd>[^\s"'|;]{4,200})["']?\s*(?=[\n|;&>]|\Z)
  | \bnet\s+user\s+\S{1,60}\s+(?P<windows>[^\s/"'*]{4,200})
  | \bpass(?:in|out)?\s+pass:(?P<openssl>[^\s"']{4,200})
  | \bUSER\s+\S{1,100}\s{1,9}(?:[^\n]{0,100}\n){0,2}(?:[CS>:\s-]{0,6})PASS\s+(?P<protocol>\S{4,200})
  | (?:>\s?|^)AUTH\s+(?:[\w.-]{1,60}\s+)?(?P<redis>\S{7,200})[ \t]*(?:$)
    """,
    re.VERBOSE | re.MULTILINE,
)
"""A password that a command reads from another one or among its arguments, or that a protocol sends on a line of its own."""

_PIPES = ("passwd", "stdin", "sudo", "with-token", "net user", "pass:", "pass ", "auth ")
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
    for hints, pattern in ((_LOGINS, _COMMAND), (_PIPES, _PIPED)):
        if any(map(low.__contains__, hints)):
            for found in pattern.finditer(text):
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


Span = tuple[int, int, str]

_QUALIFIED = (
    "api|access|secret|private|account|auth|shared|sign(?:ing)?|encryption|master|client|storage|service|subscription|admin|app|application"
    "|consumer|deploy|ssh|webhook|license|hmac|jwt|aes|write|ingest|root|function"
)
_NAME = re.compile(
    rf"""
    (?P<password>pass(?:word|wd|phrase|code|wort)|passw|pwd|mot[_ ]de[_ ]passe|kennwort|contrase[ñn]a|(?<![A-Za-z])senha|wachtwoord
        |пароль|(?<![A-Za-z])pass|(?<=_)pass|(?<=db)pass
        |requirepass|masterauth|(?:store|key|smtp|mail|user|admin|root)pass(?![A-Za-z])|(?<![A-Za-z])pw(?![A-Za-z])|(?-i:(?<=[a-z])Pw(?![a-z]))
        |(?<![A-Za-z])(?:wpa_)?psk(?![A-Za-z])|passord|lösenord
        |(?<!\w)(?:hasło|heslo|şifre|parolă|jelszó|κωδικός|mật\ khẩu|kata\ sandi)
        |密码|密碼|口令|パスワード|비밀번호|암호|كلمة\ (?:المرور|السر)|رمز\ عبور|סיסמה|पासवर्ड|รหัสผ่าน)
  | (?P<key>(?:{_QUALIFIED})[_\-.\ ]?key) | (?P<secret>secret) | (?P<token>token|jwt|(?<=_)pat(?![A-Za-z]))
  | (?P<credential>credentials?|creds|(?<![A-Za-z])auth)
  | (?P<bare>(?<![A-Za-z])key)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NAME_END = re.compile(
    r"""(?:[_\-.]?(?:value|string|data|plain|raw|base(?:64)?|b64|prod|live|dev|staging|primary|secondary|new|old|current|hash|v?\d{1,3}))*(?![A-Za-z0-9_-])""",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"""(?<![A-Za-z])(?:page|next|prev\w*|cursor|continuation|sync|max|min|num|total|eos|bos|pad|unk|stop|mask|sep|cls|special|public|csrf|xsrf|by|foreign|primary
        |partition|sort)[_\-.\ ]?$|(?:proxy|fastcgi|uwsgi|scgi|grpc|memcached)_$""",
    re.IGNORECASE | re.VERBOSE,
)
_MARK = r"""(?:\\{0,2}["'`]|&(?:quot|apos|\#0?3[49]|\#x2[27]);)"""
_ASSIGNED = re.compile(
    rf"""
    {_MARK}?,?\s{{1,20}}["']?value["']?[ \t]{{0,3}}[:=][ \t]{{0,3}}                      # name: NAME, value: value
  | {_MARK}?[ \t]{{0,3}}\]?\)?[ \t]{{0,3}}(?:=>|:=|\?=|={{1,3}}|:|：|\||[是为為は])[ \t]{{0,40}}    # name = value, "name": value, ['name'] = value
  | {_MARK},[ \t]{{0,3}}(?=\\{{0,2}}["'`])                                            # ("name", "value")
  | >[ \t]{{0,3}}(?=[^<]{{0,2000}}</) | &gt;(?=[^\s&]{{1,2000}}&lt;/) | \((?=["'])  # <name>value</name>, name("value")
  | [ \t]{{1,3}}(?=["'`][^"'`\n]{{4,}}["'`])                                           # name "value"
    """,
    re.VERBOSE,
)
_NEXT_LINE = re.compile(r"(?:[(\[{\\]|[>|][+-]?)[ \t]{0,3}\r?\n[ \t]{1,40}(?=\S)")
"""Between a name and a value that stands on the next line: in a bracket, in a block of YAML, behind a backslash."""

_COPULA = "is|was|are|becomes|ist|lautet|est|es|é|è|jest|är"
_SAID = re.compile(
    rf"{_MARK}?[ \t]{{1,40}}(?:(?:{_COPULA}|to|as)[ \t]{{0,2}}:?[ \t]{{1,3}}"
    rf"(?:now[ \t]{{1,3}})?(?:set[ \t]{{1,3}}to[ \t]{{1,3}})?)?(?=\S)",
    re.IGNORECASE,
)
_OF = re.compile(
    rf"""[ \t]{{1,3}}(?:for|of|on|to|from|del|della|dello|di|para|do|da|de|des|du|pour|per|für|von|vom|zum|voor|van|dla|från|för|till?|от|для|від)
         (?:[ \t]{{1,3}}[\w.'’@-]{{1,40}}){{1,6}}?(?:[ \t]{{1,3}}(?:{_COPULA})[ \t]{{0,2}}:?|[ \t]{{0,3}}[:=])[ \t]{{1,3}}(?=\S)""",
    re.IGNORECASE | re.VERBOSE,
)
"""The password *for the test server is* …: what it opens, and then the value."""

_VALUE = r"(?<![A-Za-z])(?:\w{1,20}_|parameter|string|plain)?(?:value|default|content)[\"'\\]{0,3}\s{0,20}[:=>]\s{0,20}"
_LABEL = r"(?<![A-Za-z/])(?:\w{1,20}_|parameter|variable)?(?:name|key|variable)[\"'\\]{0,3}\s{0,20}[:=>]"
_BETWEEN = rf"(?:(?!{_LABEL}|[{{}}])[\s\S])"
_LABELLED = re.compile(rf"{_LABEL}\s{{0,20}}[\"'\\]{{0,3}}[\w.-]*\Z", re.IGNORECASE)
_VALUE_AFTER = re.compile(rf"[\"'\\]{{0,3}}[^\w{{}}]{_BETWEEN}{{0,400}}?{_VALUE}", re.IGNORECASE)
_VALUE_BEFORE = re.compile(rf"{_VALUE}(?={_BETWEEN}{{0,400}}\Z)", re.IGNORECASE)
_NESTED = re.compile(rf"[\"'\\]{{0,3}}\s{{0,3}}[:=]?\s{{0,3}}\{{{_BETWEEN}{{0,200}}?{_VALUE}", re.IGNORECASE)
"""Pairs of a name and a value, as Kubernetes, ECS and the settings of CI write them, in either order, with others between; a value in an object."""

_ANSWER = re.compile(
    r"[^\n:]{0,40}:[ \t]*\r?\n(?:[ \t]*\r?\n)?(?:[ \t]*```\w*\r?\n)?[ \t]*(?P<value>[^\s#*>-]\S{6,199}(?<![:,.{(\[]))[ \t]*(?:\r?\n|\Z)"
)
"""The answer to a prompt, on a line of its own."""

_SCHEME = re.compile(r"(?:bearer|basic|token|apikey|digest|negotiate)\s+", re.IGNORECASE)
_QUOTED = re.compile(rf"(?P<mark>{_MARK})(?P<value>(?:(?!(?P=mark))[^\n]){{1,2000}})(?P=mark)")
_ESCAPED = re.compile(r"""(?P<mark>\\{0,2}["'])(?P<value>(?:\\{3}["']|(?!(?P=mark))(?:\\.|[^\n\\])){1,2000})(?P=mark)""")
"""A value in quotation marks that has some of its own, behind backslashes."""

_WITHIN = r"""[^\s"'`<>,;&|\u3000-\u9fff\uac00-\ud7af\uff08-\uff0e\uff1a-\uff1f]"""
_OPEN = re.compile(_WITHIN + "{1,4000}")
_UNBROKEN = re.compile(_WITHIN + "+")
MOST_NAMES = 32
"""The number of names in one unbroken text beside which values are looked for: each value may be thousands of characters long."""

_IN_PROSE = re.compile(r"""[*_~(\[{]*(?:[^\W\d_]+(?:['’/-][^\W\d_]+)*|-{1,2}[A-Za-z][\w-]*)[*_~)\]}.:!?]*(?=[\s"'`<>,;&|]|\Z)""")
"""What goes on in the sentence: a password **manager:**, password (optional). A flag, too: it says what comes next."""
_LINE_HINT = re.compile("key|token|secret|credential|auth|passw|bearer|login|api", re.IGNORECASE)
_HOLDS_DATA = re.compile(
    "base64,|ssh-(?:rsa|ed25519|dss)|ecdsa-sha2|(?:page|cursor|continuation|next|sync)[_-]?token", re.IGNORECASE
)
_PUBLIC_NAME = re.compile(
    r"""(?:(?i:public|pub|csrf|xsrf)[\w-]*|\w*(?:[a-z]Id|_id|-id|ID))["']?\s*(?:[:=]|(?:content|value)=)?["'\s:=]*\Z"""
)
"""What stands before something that all may know: a public key, the id of a credential."""

_RUN = re.compile(r"(?<![A-Za-z0-9_+/=.~-])(?<!SHA256:)[A-Za-z0-9][A-Za-z0-9_+/=.~-]{19,}")

PARTS = tuple("pass pwd pw secret token key auth cred jwt kennw contrase senha wachtw _pat psk senord heslo sandi".split())  # noqa: SIM905
"""One of these is in every name of a secret that is written in plain letters."""

_PARTS_ABROAD = (
    *"пароль hasło şifre parolă jelszó κωδικός 密码 密碼 口令 パスワード 비밀번호 암호 المرور السر סיסמה पासवर्ड รหัสผ่าน".split(),  # noqa: SIM905
    *("mật khẩu", "رمز عبور"),
)

LEAST_BARE = 20
ASSIGNED_LEAST = {"password": 4, "secret": 8, "token": 8, "key": 8, "credential": 16, "bare": 20}
SAID_LEAST = {"password": 7, "secret": 12, "token": 16, "key": 16, "credential": 20, "bare": 20}


def named(text: str) -> Iterator[Span]:
    """Returns where values stand beside names of secrets, and the kinds of these. No value is looked for in another."""
    reached = end = count = 0
    for found in sorted(_names(text), key=re.Match.start):
        if found.start() >= end:
            end, count = _unbroken_until(text, found.start()), 0
        count += 1
        kind = _kind_at(text, found) if found.start() >= reached and count <= MOST_NAMES else None
        if kind is not None:
            for span in _beside(text, found, kind):
                reached = span[1]
                yield span


def _unbroken_until(text: str, start: int) -> int:
    found = _UNBROKEN.match(text, start)
    return start if found is None else found.end()


def _beside(text: str, name: re.Match[str], kind: str) -> Iterator[Span]:
    end = _NAME_END.match(text, name.end())
    start = name.end() if end is None else end.end()
    separator = _ASSIGNED.match(text, start) or _SAID.match(text, start)
    if separator and _is_verb(text, name) and separator[0].strip().lower() in ("", "to", "as"):
        return
    if at := _paired_value(text, name.start(), start):
        yield from _value(text, at, kind, ASSIGNED_LEAST[kind])
    elif kind == "password" and (answer := _ANSWER.match(text, start)):
        if any(map(str.isdigit, answer["value"])):
            yield from _value(text, answer.start("value"), kind, SAID_LEAST[kind])
    elif separator := _ASSIGNED.match(text, start):
        broken = _NEXT_LINE.match(text, separator.end())
        yield from _value(text, broken.end() if broken else separator.end(), kind, ASSIGNED_LEAST[kind])
    elif kind == "password" and not _is_verb(text, name) and (of := _OF.match(text, start)):
        if not _IN_PROSE.match(text, of.end()):
            yield from _value(text, of.end(), kind, SAID_LEAST[kind])
    elif separator := _SAID.match(text, start):
        is_flag = text[max(name.start() - 40, 0) : name.start()].rpartition(" ")[2].startswith("--")
        if is_flag or separator[0].strip() or not _IN_PROSE.match(text, separator.end()):
            yield from _value(text, separator.end(), kind, (ASSIGNED_LEAST if is_flag else SAID_LEAST)[kind])


def _paired_value(text: str, begin: int, end: int) -> int | None:
    """Where the value begins that stands in the same object as a name, if the name is itself the value of a label."""
    if nested := _NESTED.match(text, end):
        return nested.end()
    label = _LABELLED.search(text, max(begin - 80, 0), begin)
    if label is None:
        return None
    if after := _VALUE_AFTER.match(text, end):
        return after.end()
    before = list(_VALUE_BEFORE.finditer(text, max(label.start() - 400, 0), label.start()))
    return before[-1].end() if before else None


def _is_verb(text: str, name: re.Match[str]) -> bool:
    """Returns True if a name can be an action: pass "utf-8" to it."""
    return name[0].lower() == "pass" and not text[max(name.start() - 1, 0) : name.start()].strip()


def bare(text: str) -> Iterator[Span]:
    """Returns where texts that were drawn by chance stand in lines that speak of keys and tokens."""
    if not _LINE_HINT.search(text):
        return
    start = 0
    for line in text.splitlines(keepends=True):
        if _LINE_HINT.search(line) and not _HOLDS_DATA.search(line):
            for found in _RUN.finditer(line):
                value = found[0].rstrip(".=~/+-")
                bare_value = value.rpartition("=")[2] if "=" in value.rstrip("=") else value
                begin = found.start() + value.rfind(bare_value)
                if is_bare_secret(bare_value) and not _PUBLIC_NAME.search(line[max(begin - 60, 0) : begin]):
                    yield (
                        start + found.end() - len(found[0]) + (value.rfind("=") + 1),
                        start + found.start() + len(found[0].rstrip(".")),
                        "token",
                    )
        start += len(line)


def _names(text: str) -> Iterator[re.Match[str]]:
    """Names of secrets, each once. Looking for their plainest parts first is several times as fast as looking for all of them everywhere."""
    low = text.lower()
    if len(low) != len(text):
        yield from _NAME.finditer(text)
        return
    seen = set()
    for part in PARTS if low.isascii() else (*PARTS, *_PARTS_ABROAD):
        at = low.find(part)
        while at >= 0:
            for found in _NAME.finditer(text, max(at - 13, 0), at + 11):
                if found.span() not in seen:
                    seen.add(found.span())
                    yield found
            at = low.find(part, at + len(part))


def kind_of(name: str) -> str | None:
    """The kind of the secret that a name speaks of; `None` if it speaks of none."""
    for found in _NAME.finditer(name):
        kind = _kind_at(name, found)
        end = _NAME_END.match(name, found.end())
        if kind is not None and end is not None and end.end() == len(name):
            return kind
    return None


def is_secret(value: str, kind: str, least: int) -> bool:
    """Returns True if a value of a name of this kind is a secret of at least `least` characters."""
    if kind == "password":
        return is_password(value, least)
    if kind == "bare":
        return is_bare_secret(value)
    return is_token(value, least) and not (kind == "credential" and is_hexadecimal(value) and len(value) <= 36 and "-" in value)


def _kind_at(text: str, found: re.Match[str]) -> str | None:
    """The kind of a name that was found, if it ends there and counts, names or pages nothing."""
    if _NAME_END.match(text, found.end()) is None or _NOT_SECRET.search(text[max(found.start() - 15, 0) : found.start()]):
        return None
    return found.lastgroup


def _value(text: str, start: int, kind: str, least: int) -> Iterator[Span]:
    scheme = _SCHEME.match(text, start)
    at = scheme.end() if scheme else start
    if quoted := _quoted(text, at):
        inside = _SCHEME.match(quoted["value"])
        begin, value = quoted.start("value"), quoted["value"]
        if inside:
            begin, value = begin + inside.end(), value[inside.end() :]
        if not re.search(r"\s", value) and is_secret(value, kind, least):
            yield begin, begin + len(value), _named(kind)
    elif found := _OPEN.match(text, at):
        value = _trimmed(found[0])
        if value.endswith("=") and text[found.end() : found.end() + 1] in ("'", '"'):
            return  # the name of the next attribute
        if is_secret(value, kind, least):
            yield at, at + len(value), _named(kind)


def _quoted(text: str, at: int) -> re.Match[str] | None:
    """The value in quotation marks that begins there."""
    plain = _QUOTED.match(text, at)
    return (_ESCAPED.match(text, at) or plain) if plain and plain["value"].endswith("\\") else plain


def _trimmed(value: str) -> str:
    """A value without what ends the sentence or closes the bracket that it stands in."""
    while value and (
        value[-1] in ".:!?"
        or (value[-1] in ")]}" and value.count(value[-1]) > value.count({")": "(", "]": "[", "}": "{"}[value[-1]]))
    ):
        if value[-1] in "!?" and len(value) < 24:
            break
        value = value[:-1]
    return value


def _named(kind: str) -> str:
    return {"bare": "key", "credential": "credential"}.get(kind, kind)


HEADINGS = ("password", "passwd", "pwd", "secret", "token")
"""One of these is in every such heading."""

_SEPARATORS = "|\t;,"
_AROUND_CELL = " \t\"'`*\r"
_RULE = frozenset("-+|=: ")
_LONGEST_NAME = 24


def tabled(text: str) -> Iterator[tuple[int, int, str]]:
    """Returns where such cells begin and end, and their kinds."""
    start = size = 0
    separator, kinds = "|", dict[int, str]()
    for line in text.split("\n"):
        if kinds and line.count(separator) == size:
            yield from _secrets(line.split(separator), kinds, start)
        elif not (kinds and _RULE.issuperset(line)):
            separator = next((one for one in _SEPARATORS if one in line), "|")
            size, kinds = line.count(separator), _kinds(line, separator)
        start += len(line) + 1


def _kinds(line: str, separator: str) -> dict[int, str]:
    """Returns the kinds of secrets that a line names in cells of its own, by column."""
    low = line.lower()
    if separator not in line or not any(map(low.__contains__, HEADINGS)):
        return {}
    names = [name.strip(_AROUND_CELL) for name in line.split(separator)]
    is_heading = (
        sum(map(bool, names)) > 1 if separator == "|" else all(names) and not line[0].isspace()
    )  # not the arguments of a call
    if not is_heading or any(len(name) > _LONGEST_NAME or name.count(" ") > 1 for name in names):
        return {}
    return {column: kind for column, name in enumerate(names) if (kind := kind_of(name)) and kind != "bare"}


def _secrets(cells: list[str], kinds: dict[int, str], start: int) -> Iterator[tuple[int, int, str]]:
    for column, cell in enumerate(cells):
        value, kind = cell.strip(_AROUND_CELL), kinds.get(column)
        if kind is not None and " " not in value and is_secret(value, kind, ASSIGNED_LEAST[kind]):
            begin = start + cell.index(value)
            yield begin, begin + len(value), kind
        start += len(cell) + 1
