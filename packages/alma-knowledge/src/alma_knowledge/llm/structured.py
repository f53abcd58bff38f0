"""Answers of a language model as checked values: JSON found in whatever the model wrapped around it, one more try where it is wrong."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from alma.protocols import LLM
from alma_knowledge.llm.calling import ask
from alma_knowledge.llm.errors import LLMError

TRIES = 2
LONGEST_COMPLAINT = 600
MOST_OPENINGS = 64
"""Places at which JSON is looked for in an answer."""

_LONE = re.compile("[\ud800-\udfff]")

Shape = TypeVar("Shape", bound=BaseModel)


def ask_for(model: LLM, prompt: str, shape: type[Shape], *, tries: int = TRIES) -> Shape:
    """Returns what a model answers as a value of a shape. `LLMError` if it gives no such value in `tries` calls."""
    schema = shape.model_json_schema()
    asked = f"{prompt}\n\nAnswer with one JSON object of this schema, and nothing else:\n{json.dumps(schema, ensure_ascii=False)}"
    complaint = ""
    for _ in range(tries):
        said = f"{asked}\n\nYour last answer was not of it: {complaint}" if complaint else asked
        answer = ask(model, said, schema=schema).text
        complaint = "it holds no JSON object"
        for found in _objects_in(answer):
            try:
                return shape.model_validate(found)
            except ValidationError as error:
                complaint = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in error.errors())[
                    :LONGEST_COMPLAINT
                ]
    raise LLMError(f"the language model gave no answer of the wanted form in {tries} tries: {complaint}")


def fence(text: str, name: str) -> str:
    """Returns a text between marks that it does not hold itself, so that nothing in it can end it and be read as an instruction."""
    mark = f"{name}-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]}"
    return f"<{mark}>\n{text}\n</{mark}>"


def _objects_in(answer: str) -> Iterator[object]:
    """Yields the JSON objects in an answer, outermost first, without halves of characters."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(MOST_OPENINGS):
        at = answer.find("{", at)
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(answer, at)
            found = _mended(found)
        except (ValueError, RecursionError):
            at += 1
        else:
            at = end
            yield found


def _mended(value: object) -> object:
    if isinstance(value, str):
        return _LONE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [_mended(each) for each in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(each) for key, each in value.items()}
    return value
