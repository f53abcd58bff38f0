"""Frozen values whose faults are errors of ALMA."""

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic import ValidationError as PydanticError

from alma.errors import ValidationError
from alma.text import quoted


class Value(BaseModel):
    """A frozen value. `alma.ValidationError` names the field that is wrong, missing or unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except PydanticError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or type(self).__name__
            raise ValidationError(f"{type(self).__name__}: {place} is {quoted(first['input'])}: {first['msg']}") from error
