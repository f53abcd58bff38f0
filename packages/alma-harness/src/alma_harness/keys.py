"""Keys of records: names of any length and content become digests, so that none reaches into the records of another."""

import hashlib
import json

from alma.errors import ValidationError
from alma_integration import checked_name


def checked_key(value: object, name: str) -> str:
    """As `checked_name`, for the id of a workflow, a session or an item, which owns nothing: `ValidationError` if there is none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValidationError(f"{name} is missing")
    return checked_name(value, name)


def digest(*names: str | None) -> str:
    """Returns the same 32 hexadecimal digits for the same names, others for any other names."""
    return hashlib.blake2b(json.dumps(names).encode(), digest_size=16).hexdigest()
