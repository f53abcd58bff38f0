"""Any model that a program has, as the one shape that ALMA asks: a prompt in, a text out."""

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from alma.errors import AlmaError, ValidationError
from alma.protocols import LLM
from alma.text import quoted
from alma_knowledge.llm.errors import LLMError

Answering = Callable[[str], Any]
Schema = Mapping[str, Any]
"""A JSON schema of an object."""

_PARTS = ("content", "text", "message", "choices", "output_text", "response")
"""Where the answers of common clients hold their text: as an attribute or a key, the first that is there."""

DEEPEST = 6


class Answer(NamedTuple):
    """An answer, and the tokens that went in and came out, where the server says so."""

    text: str
    tokens: tuple[int, int] | None = None


@runtime_checkable
class StructuredLLM(Protocol):
    """A model that can be held to a JSON schema, and that says what it used."""

    def answer(self, prompt: str, /, *, schema: Schema | None = None) -> Answer:
        """Returns the model's answer; JSON of a schema, as far as the server can hold it to that."""


def ask(model: LLM, prompt: str, *, schema: Schema | None = None) -> Answer:
    """Returns the answer of any model. One that knows of no schemas is asked without.

    `LLMError` says what the model raised, or that its answer is no `Answer`.
    """
    try:
        answer: object = (
            model.answer(prompt, schema=schema) if isinstance(model, StructuredLLM) else Answer(model.complete(prompt))
        )
    except AlmaError:
        raise
    except Exception as error:
        raise LLMError(f"{type(model).__name__}: {type(error).__name__}: {error}") from error
    if not isinstance(answer, Answer) or not isinstance(answer.text, str):
        raise LLMError(f"{type(model).__name__} gave {type(answer).__name__}, which is no Answer with a text")
    return answer


@dataclass(frozen=True, slots=True)
class CalledModel:
    """A model behind a call that takes a prompt. Implements `alma.protocols.LLM`."""

    call: Answering
    name: str

    def complete(self, prompt: str, /) -> str:
        """Returns the model's answer. `LLMError` says what the model raised, or that its answer holds no text."""
        try:
            answer = _wait_for(self.call(prompt))
        except AlmaError:
            raise
        except Exception as error:
            raise LLMError(f"{self.name}: {type(error).__name__}: {error}") from error
        text = _text_in(answer, DEEPEST)
        if text is None:
            raise LLMError(f"{self.name} gave {type(answer).__name__}, which holds no text")
        return text


def as_llm(model: object) -> LLM:
    """Returns a model as ALMA asks it. `ValidationError` for what cannot be asked.

    Accepted are what has `complete(prompt)` (LlamaIndex and others), `chat(messages)`, `invoke(prompt)` (LangChain) or `call(prompt)` (CrewAI), and
    a function of a prompt. Each may be asynchronous. Its answer may be a text, or an object or mapping that holds one as usual clients' do.
    """
    name = str(getattr(model, "name", None) or type(model).__name__)
    if isinstance(model, CalledModel | StructuredLLM):
        return model  # type: ignore[return-value]
    shapes: tuple[tuple[str, Callable[[Any, str], Any]], ...] = (
        ("complete", lambda call, prompt: call(prompt)),
        ("chat", lambda call, prompt: call([{"role": "user", "content": prompt}])),
        ("invoke", lambda call, prompt: call(prompt)),
        ("call", lambda call, prompt: call(prompt)),
    )
    for method, ask in () if isinstance(model, type) else shapes:
        if callable(found := getattr(model, method, None)):
            return CalledModel(lambda prompt, found=found, ask=ask: ask(found, prompt), name)  # type: ignore[misc]
    if callable(model) and not isinstance(model, type):
        return CalledModel(model, getattr(model, "__name__", name))
    raise ValidationError(
        f"{quoted(model)} is no language model: it needs complete(prompt), chat(messages), invoke(prompt) or to be a function"
    )


def _wait_for(answer: Any) -> Any:
    """Returns what an awaitable gives, in a thread of its own: a loop may be running in this one."""
    if not inspect.isawaitable(answer):
        return answer

    async def await_it() -> Any:
        return await answer

    with ThreadPoolExecutor(max_workers=1) as beside:
        return beside.submit(asyncio.run, await_it()).result()


def _text_in(answer: object, deepest: int) -> str | None:
    if isinstance(answer, str):
        return answer
    if not deepest or answer is None or isinstance(answer, int | float | bytes):
        return None
    if isinstance(answer, Sequence):
        parts = [text for part in answer if (text := _text_in(part, deepest - 1)) is not None]
        return "".join(parts) if parts else None
    for name in _PARTS:
        held = answer.get(name) if isinstance(answer, Mapping) else getattr(answer, name, None)
        if held is not None and not callable(held) and (text := _text_in(held, deepest - 1)) is not None:
            return text
    return None
