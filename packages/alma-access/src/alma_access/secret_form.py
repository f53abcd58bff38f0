"""The written form of a secret: `alma_`, the id of its token, `_`, 256 random bits, and a checksum that tells a typo from a wrong key."""

import base64
import re
import secrets
import zlib

ID_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
ID_LENGTH = 8

_FORM = re.compile(r"(alma_([a-z2-7]{8})_[A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})")
_PREFIX = "alma_"


def new_id() -> str:
    """Returns 8 random letters and digits that name a token in logs and lists."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(ID_LENGTH))


def new_secret(token_id: str) -> str:
    """Returns a random secret for the token of this id: 63 characters that go into a header or a URL as they are."""
    begun = f"{_PREFIX}{token_id}_{secrets.token_urlsafe(32)}"
    return begun + _checksum(begun)


def is_mistyped(secret: str) -> bool:
    """True for a text that begins like a secret of this form, and whose length or checksum does not fit: it was cut or typed wrongly."""
    if not secret.startswith(_PREFIX):
        return False
    found = _FORM.fullmatch(secret)
    return found is None or found[3] != _checksum(found[1])


def _checksum(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.crc32(text.encode()).to_bytes(4, "big")).decode().rstrip("=")
