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
            raise ValidationError(f"{type(self).__name__}: {self._fault(error)}") from error

    @classmethod
    def _fault(cls, error: PydanticError) -> str:
        found = error.errors(include_url=False)
        unknown = [str(one["loc"][0]) for one in found if one["type"] == "extra_forbidden"]
        if unknown:
            return f"there is no {quoted(unknown[0])}; there are {', '.join(cls.model_fields)}"
        place = ".".join(map(str, found[0]["loc"])) or cls.__name__
        if found[0]["type"] == "missing":
            return f"{place} is missing"
        return f"{place} is {quoted(found[0]['input'])}: {found[0]['msg'].removeprefix('Value error, ')}"
