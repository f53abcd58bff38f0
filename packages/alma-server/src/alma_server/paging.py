"""Pages of a list: opaque signed cursors that hold the position and the list they belong to."""

import base64
import binascii
import hashlib
import hmac
import json
from typing import Any

from alma.errors import ScopeViolationError, ValidationError
from alma_server.asking import Asked

_MAC = 16
LARGEST_PAGE = 200


def make_cursor(asked: Asked, position: Any, **filters: Any) -> str:
    """Returns the cursor of the page after a position, a JSON value: for this token and project, and a list of these filters only."""
    content = json.dumps([position, _digest(filters), _owner(asked)], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_mac(asked, content) + content).rstrip(b"=").decode()


def read_cursor(asked: Asked, cursor: str | None, **filters: Any) -> Any:
    """Returns the position in a cursor, `None` without one.

    `ValidationError` for one that this server did not make, and for other filters; `ScopeViolationError` for one of another token or project.
    """
    if cursor is None:
        return None
    position, digest, owner = _opened(asked, cursor)
    if owner != _owner(asked):
        raise ScopeViolationError("this cursor is of another token or project")
    if digest != _digest(filters):
        raise ValidationError("this cursor is of a list with other filters")
    return position


def show_next(asked: Asked, cursor: str | None) -> None:
    """Adds the header `Link` with the address of the next page, if there is one."""
    if cursor is not None:
        query = asked.request.url.include_query_params(cursor=cursor).query
        asked.respond("Link", f'<{asked.address}?{query}>; rel="next"')


def _opened(asked: Asked, cursor: str) -> Any:
    try:
        whole = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        whole = b""
    mac, content = whole[:_MAC], whole[_MAC:]
    if not hmac.compare_digest(mac, _mac(asked, content)):
        raise ValidationError("this is no cursor of this server")
    return json.loads(content)


def _mac(asked: Asked, content: bytes) -> bytes:
    return hmac.digest(asked.service.settings.cursor_key, content, "sha256")[:_MAC]


def _digest(filters: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(filters, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _owner(asked: Asked) -> str:
    return hashlib.sha256(f"{asked.token.id}\0{asked.project}".encode()).hexdigest()[:16]
