"""Headers of a delivery: those of Standard Webhooks, and those that alma-memory published."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence

from alma.errors import ValidationError
from alma.text import quoted

PREFIX = "whsec_"
SECRET_BYTES = 32
LONGEST_SECRET = 500
LONGEST_HEADER = 4_000
MOST_HEADERS = 20

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OURS = (
    "host",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "expect",
    "te",
    "trailer",
    "upgrade",
    "user-agent",
)


def new_secret() -> str:
    """Returns a random secret in the form of Standard Webhooks."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def check_secret(secret: object) -> str:
    """Returns a secret of any text. `ValidationError`, which does not repeat it, if it is empty, too long or no text, or `whsec_` without a key."""
    if not isinstance(secret, str) or not secret or len(secret) > LONGEST_SECRET or not secret.isprintable():
        raise ValidationError(f"secret must be 1 to {LONGEST_SECRET} printable characters")
    if secret.startswith(PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValidationError("secret begins with whsec_, but Base64 does not follow") from error
        if not key:
            raise ValidationError("secret begins with whsec_, but no key follows")
    return secret


def check_headers(headers: object) -> dict[str, str]:
    """Returns additional headers. `ValidationError` for names that this package or HTTP itself sets, and for what cannot be a header."""
    if not isinstance(headers, Mapping) or len(headers) > MOST_HEADERS:
        raise ValidationError(f"headers must be a mapping of at most {MOST_HEADERS} names to values")
    for name, value in headers.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValidationError(f"headers: {quoted(name)} cannot be the name of a header")
        if name.lower() in _OURS or name.lower().startswith(("webhook-", "x-alma-")):
            raise ValidationError(f"headers: {name} is set by ALMA itself")
        if not isinstance(value, str) or len(value) > LONGEST_HEADER or not value.isascii() or not value.isprintable():
            raise ValidationError(f"headers: the value of {name} must be printable ASCII text")
    return dict(headers)


def delivery_headers(
    body: bytes, *, message_id: str, event_type: str, timestamp: int, keys: Sequence[str], extra: Mapping[str, str]
) -> dict[str, str]:
    """Returns the headers of an attempt. `timestamp` is its time in seconds since 1970, `keys` the current secret and then former ones.

    `webhook-signature` has a signature by each secret, `X-ALMA-Signature` one by the current secret, of the time, a dot and the body. Without
    secrets there are no signatures.
    """
    headers = {
        **extra,
        "content-type": "application/json",
        "user-agent": "ALMA-Webhooks/1",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "x-alma-event-type": event_type,
        "x-alma-timestamp": str(timestamp),
    }
    if keys:
        signed = f"{message_id}.{timestamp}.".encode() + body
        headers["webhook-signature"] = " ".join(f"v1,{_standard_signature(key, signed)}" for key in keys)
        former = hmac.new(keys[0].encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
        headers["x-alma-signature"] = f"sha256={former.hexdigest()}"
    return headers


def _standard_signature(secret: str, signed: bytes) -> str:
    is_encoded = secret.startswith(PREFIX)
    key = base64.b64decode(secret.removeprefix(PREFIX)) if is_encoded else secret.encode()
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
