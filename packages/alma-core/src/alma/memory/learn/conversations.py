"""Conversations as memories: the messages of a caller become turns."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.learn import record
from alma.memory.room import Room
from alma.text import quoted
from alma.types.identity import new_id
from alma.types.memories import ROLES_OF_OTHERS, Conversation, Turn

INSTRUCTIONS = frozenset({"system", "developer"})
"""Roles that instruct the assistant. Nothing of it was said, so it is left out."""

TOOL, TOOL_RESULT = "tool", "tool_result"

MOST_CHARACTERS = 2_000_000


def add_conversation(
    room: Room,
    messages: Iterable[Mapping[str, Any] | tuple[str, str]],
    agent: str,
    session_id: str,
    *,
    at: datetime | None = None,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Conversation:
    """Stores a conversation, searched by its sentences. A message is `{"role": …, "content": …}`, as model APIs have it, or (speaker, text).

    What people say is found by meaning and by words; what has the role of an assistant or a tool, by words, which weigh half. Messages of a
    system are left out.
    `at` is when the conversation took place, now by default. In a slice `metadata["hits"]` lists what of it is nearest to the question.
    """
    now = room.store.clock()
    memory = Conversation(
        id=new_id(now),
        agent=args.checked_name(agent, "agent"),
        user_id=args.optional_name(user_id, "user_id"),
        project_id=room.name,
        metadata=args.checked_metadata(metadata),
        created_at=now,
        updated_at=now,
        session_id=args.checked_label(session_id, "session_id"),
        turns=tuple(_turns(messages)),
        held_at=args.checked_time(at, "at") or now,
    )
    return record.add(room, memory, operation="add_conversation")


def _turns(messages: object) -> Iterator[Turn]:
    left, is_empty = MOST_CHARACTERS, True
    for number, message in enumerate(args.checked_items(messages, "messages")):
        for turn in [message] if isinstance(message, Turn) else _turns_of(message, f"messages[{number}]"):
            args.checked_label(turn.speaker, f"the speaker of messages[{number}]")
            args.checked_text(turn.text, f"the text of messages[{number}]")
            left -= len(turn.text)
            if left < 0:
                raise ValidationError(
                    f"the messages have more than {MOST_CHARACTERS:,} characters; store them as several conversations"
                )
            is_empty = False
            yield turn
    if is_empty:
        raise ValidationError("messages holds no text that was said; instructions of a system are left out")


def _turns_of(message: object, place: str) -> Iterator[Turn]:
    """Yields the turns of one message: the answers of tools that it carries, and its own text. None if it has no text, such as a call of a tool, or
    instructs."""
    if isinstance(message, Mapping):
        role, name = message.get("role", message.get("speaker")), message.get("name")
        content = message.get("content", message.get("text"))
    elif isinstance(message, tuple | list) and len(message) == 2:
        (role, content), name = message, None
    else:
        raise ValidationError(
            f"{place} must be a mapping with role and content, or a pair of speaker and text, not {quoted(message)}"
        )
    if not isinstance(role, str) or not role.strip():
        raise ValidationError(f"{place} has no role")
    if role.strip().lower() in INSTRUCTIONS:
        return
    if answers := _answers_of_tools(content, place).strip():
        yield Turn(speaker=TOOL, text=answers, is_own=False)
    if text := _text(content, place).strip():
        speaker = name if isinstance(name, str) and name.strip() else role
        yield Turn(speaker=speaker.strip(), text=text, is_own=role.strip().lower() not in ROLES_OF_OTHERS)


def _answers_of_tools(content: object, place: str) -> str:
    """The text of the parts that hold an answer of a tool, as Anthropic's messages of a user do: no words of that user."""
    parts = content if isinstance(content, list | tuple) else ()
    answers = [part.get("content") for part in parts if isinstance(part, Mapping) and part.get("type") == TOOL_RESULT]
    return "\n".join(_text(answer, place) for answer in answers)


def _text(content: object, place: str) -> str:
    """Returns the text of a content: a text, nothing, or a list of parts of which those with a text count."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        parts = (part if isinstance(part, str) else part.get("text") if isinstance(part, Mapping) else None for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    raise ValidationError(f"the content of {place} must be a text or a list of parts, not {quoted(content)}")
