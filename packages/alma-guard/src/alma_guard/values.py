"""Classifies what stands in the place of a secret: a secret, or a word, a name, a placeholder, a version, a path."""

import math
import re
from collections import Counter

_PLACEHOLDER = re.compile(
    r"""
    \$\{ | \$\( | ^\$[A-Za-z_]\w*$ | ^%\w+%$ | ^%\(\w+\)s?$ | \{\{ | ^\{\w*\}$ | ^<[^>]*>?$ | ^\[[^\]]*\]?$ | ^@\w+@$ | ^!\w+$
  | \.\.\. | … | ([xX*.•#_-])\1{3,} | ^[xX]+$ | ^0+$ | ^(?:x{2,}-)+x*$
  | example | placeholder | change[_-]?(?:me|it|this) | redacted | replace[_-]?(?:me|with|this) | insert[_-] | not[_-]?a[_-]?real
  | [_-]here$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PRETENDED = re.compile(
    "(?:(?:your|my|the|some|an?)[_-]|(?:dummy|fake|sample|test(?:ing)?|foo|bar|todo|tbd|hidden|masked|removed|default)[0-9]{0,4}(?:$|[_-]))(?P<rest>.*)",
    re.IGNORECASE,
)
"""How a value begins that stands for a secret, unless the rest was drawn by chance."""

_DRAWN = re.compile(r"(?=.*\d)[\w-]{6,}")

_CODE = re.compile(
    r"""
    ^\$?[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*[(\[]                                 # a call, an index
  | ^(?:\w+\.)*(?:env|environ|secrets?|config|settings|self|this|vars?|data|args|params|options)\.[A-Za-z_]\w*$
  | ^[A-Za-z_]+(?:\.[A-Za-z_]+)+$                                         # names with dots
  | ^(?:ConvertTo|ConvertFrom|Get|Read|New)-[A-Za-z]+$                    # a command of PowerShell
  | ^(?:https?|s3|gs|file|op|vault|arn|ref|urn|data|projects)[:+/]        # where it is, not what
  | ^(?:[A-Za-z]:\\|~?/|\.{1,2}/)[\w./\\ @~-]+\.?\w*$ | ^[\w-]+\.(?:pem|key|crt|cert|p12|json|ya?ml|txt|env|py|js|ts|cfg|ini|conf|jks|pub)$
  | ^[\w.-]+(?:/[\w.-]+)+\.[a-z]{1,4}(?:::\S+)?$                          # a file, a test in it
  | ^(?:sha|md|aes|rsa|argon|bcrypt|base|utf|oauth|pbkdf|hs|rs|es|ed|tls|ssl|http|hmac)[-_]?\d+\w{0,5}$
  | ^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$ | ^[\w-]+(?:\.[a-z][\w-]*)*\.(?:com|org|net|io|dev|local|internal)(?::\d+)?$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PART = re.compile(r"[a-z]+\d{0,4}|\d{1,8}|\d{1,2}[a-z]+|[a-z]\d{1,2}[a-z]{1,2}")
_MIXED_PART = re.compile(r"\d|(?:[A-Z]?[a-z]{2,}+|[A-Z]{1,12}(?![a-z])|[a-z](?![A-Za-z]))++\d?")
_JOINED_WORDS = re.compile(r"[^\W\d_]+(?:[-’'/&+][^\W\d_]*){0,2}")
"""A word, or two or three of them with hyphens: *cost-effective*. Four can be a passphrase."""

_NUMBERS = re.compile(
    r"""[$€£¥]?[\dTZ.,:/+_-]+ | v?\d+(?:\.\w+)+ | \d+(?:ms|s|m|h|d|kb|mb|gb|%)?
      | [A-Z]{0,3}[$€£¥₹₩₽₺₫₪]\d[\d.,]*(?:[kmb]|bn)?(?:[%+~/–-].*)? | \d[\d.,]*[$€£¥₹₩₽₺₫₪%](?:[/–-].*)?     # a price
      | ~?\d[\d.,]*(?:[+%/–-]+[a-z\d]{1,12})?(?:[/–-]+[a-z]{1,12})+ | \d[\d.,]*[–+~]+\d*                     # 30-day, 8-20-character, 12+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SEPARATOR = re.compile(r"[-_./:]+")
_HEXADECIMAL = re.compile("[0-9a-fA-F]+")
UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_IDS = re.compile(
    r"(?:call|toolu|msg|run|thread|asst|file|req|resp|chatcmpl|cmpl|cus|pi|ch|evt|in|sub|prod|price|org|proj|step|batch|vs|id|job|task|item|order|inv|trace|span|build"
    r"|commit|sess|user|usr|acct|conv|session|event|sha\d*|md5|rev|etag|v\d|h1|arn)[-_:/.]",
    re.IGNORECASE,
)
_BEGINS = re.compile("(?<=[a-z])[A-Z]|(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]")
_CLASSES = (str.isdigit, str.islower, str.isupper)
_WORDS = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z][a-z]{2,}")
_VOWEL = re.compile("[aeiouyAEIOUY]")
MOST_IN_WORDS = 0.6


def is_placeholder(value: str) -> bool:
    """Returns True if a value only stands for a secret: `${TOKEN}`, `<token>`, `changeme`, `xxxx`, AKIAIOSFODNN7EXAMPLE."""
    if _PLACEHOLDER.search(value) is not None:
        return True
    pretended = _PRETENDED.match(value)
    return pretended is not None and (not _DRAWN.fullmatch(pretended["rest"]) or _is_name(pretended["rest"]))


def is_password(value: str, least: int) -> bool:
    """Returns True if a value can be a password of at least `least` characters: any but plain words, names, code, numbers that count something."""
    if len(value) < least or _is_spoken(value) or (_NUMBERS.fullmatch(value) and not (value.isdigit() and len(value) >= least)):
        return False
    return not _JOINED_WORDS.fullmatch(value) or is_random(value, 16)


def is_token(value: str, least: int) -> bool:
    """Returns True if a value can be a key or token of at least `least` characters: letters and digits that no words make up."""
    if len(value) < least or _is_spoken(value) or _NUMBERS.fullmatch(value):
        return False
    parts = _SEPARATOR.split(value)
    if all(len(part) <= 4 or part.isdigit() or (part.isalpha() and (part.islower() or part.istitle())) for part in parts):
        return False
    if not any(map(str.isdigit, value)):
        return is_random(value, least)
    return entropy(value) >= 2.5 and (len(parts) == 1 or is_hexadecimal(value) or _changes(value) >= 0.12)


def is_random(value: str, least: int) -> bool:
    """Returns True if a value of at least `least` characters was drawn by chance: it changes between small letters, capitals and digits far more
    often than `wordsInOneName2` do."""
    return len(value) >= least and _changes(value) >= 0.24 and entropy(value) >= 3.2


def is_bare_secret(value: str) -> bool:
    """Returns True if a value must be a secret where only the words around speak of one: drawn by chance, no id, no hash, no path."""
    if _IDS.match(value) or value.count("/") > 3 or is_placeholder(value):
        return False
    prefix, _, rest = value.rpartition("_") if "_" in value else value.rpartition("-")
    if prefix and len(prefix) <= 16 and len(rest) >= 32 and _HEXADECIMAL.fullmatch(rest):
        return not UUID.fullmatch(value)
    longest = max(re.split(r"[./]", value), key=len)
    if is_hexadecimal(value) or _share_in_words(longest) >= MOST_IN_WORDS:
        return False
    return all(any(map(is_of, longest)) for is_of in _CLASSES) and is_random(longest, 20)


def is_drawn(value: str) -> bool:
    """Returns True if a token of a known beginning was drawn by chance, and is no name of several words."""
    return _changes(value) >= 0.15 or _HEXADECIMAL.fullmatch(re.split("[-_.]", value)[-1]) is not None


def is_hexadecimal(value: str) -> bool:
    """Returns True if a value is a hash or a UUID by its looks."""
    return bool(_HEXADECIMAL.fullmatch(value) or UUID.fullmatch(value))


def entropy(value: str) -> float:
    """Shannon's entropy of the characters of a text, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def _is_spoken(value: str) -> bool:
    """Returns True if a value is said rather than drawn: a placeholder, code, a word or several."""
    return (
        is_placeholder(value)
        or ("_" in value and _is_name(value))
        or (_CODE.search(value) is not None and not _is_no_name(value))
    )


def _is_name(value: str) -> bool:
    """Returns True for the name of a variable, in small letters, capitals or words: numbers stand at the ends of its parts, as seldom by chance."""
    parts = [part for part in re.split("[_-]+", value) if part]
    is_one_case = value in (value.lower(), value.upper())
    return all(_PART.fullmatch(part.lower()) if is_one_case else _MIXED_PART.fullmatch(part) for part in parts)


def _is_no_name(value: str) -> bool:
    """Returns True if what `_CODE` ignores the case of is no name after all."""
    return is_random(value, 20) and any(map(str.isdigit, value)) and "(" not in value and "[" not in value


def _share_in_words(value: str) -> float:
    """The share of characters in what can be words of a name: three letters or more in a row, with a vowel."""
    return sum(len(word) for word in _WORDS.findall(value) if _VOWEL.search(word)) / max(len(value), 1)


def _changes(value: str) -> float:
    """The share of places where a capital or a digit begins, or digits end: a word that begins with a capital counts once."""
    return len(_BEGINS.findall(value)) / max(len(value) - 1, 1)
