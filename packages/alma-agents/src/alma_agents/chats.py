"""Exports of chats as conversations: ChatGPT, Claude.ai, Slack, plain text and Markdown. Who spoke decides what may be learned."""

import html
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

CHATGPT, CLAUDE_AI, SLACK, TEXT = "chatgpt", "claude-ai", "slack", "text"
HUMAN, ASSISTANT = "user", "assistant"
_LONGEST_TURN = 50_000
_MARKS = re.compile("\ue200[^\ue201]*\ue201|[\ue200-\ue202]")
_UNSAID = re.compile(r"(channel|group)_(join|leave|topic|purpose|name|archive)|bot_add|pinned_item|reminder_add|tombstone")


class Said(NamedTuple):
    """A message of one speaker. `role` is "user" for people, "assistant" for models and programs."""

    speaker: str
    role: str
    text: str


class Chat(NamedTuple):
    """One conversation. `key` names it, however often it is exported; `at` is its beginning in seconds since 1970, 0 if that is unknown."""

    form: str
    key: str
    title: str
    at: float
    turns: tuple[Said, ...]


def form_of(record: dict[str, Any]) -> str:
    """Returns the format of a conversation in an array, "" for an unknown one."""
    if isinstance(record.get("mapping"), dict):
        return CHATGPT
    if isinstance(record.get("chat_messages"), list):
        return CLAUDE_AI
    return SLACK if record.get("type") == "message" and "ts" in record else ""


def chat_of(record: dict[str, Any]) -> Chat | None:
    """Returns the conversation of a record of ChatGPT or Claude.ai, `None` if it has none or is not to be remembered."""
    if form_of(record) == CHATGPT:
        return None if record.get("is_do_not_remember") else _chatgpt(record)
    return _claude_ai(record)


def _said(found: Iterable[tuple[str, str, str]]) -> tuple[Said, ...]:
    cleaned = ((speaker, role, text.replace("\x00", "").strip()) for speaker, role, text in found)
    return tuple(Said(speaker, role, text[:_LONGEST_TURN]) for speaker, role, text in cleaned if text)


def _chatgpt(record: dict[str, Any]) -> Chat:
    nodes = record["mapping"]
    path: list[dict[str, Any]] = []
    seen: set[str] = set()
    place = record.get("current_node")
    while isinstance(place, str) and place not in seen and isinstance(node := nodes.get(place), dict):
        seen.add(place)
        if isinstance(message := node.get("message"), dict):
            path.append(message)
        place = node.get("parent")
    turns = ((role, role, text) for role, text in map(_chatgpt_said, reversed(path)))
    key = str(record.get("conversation_id") or record.get("id") or "")
    return Chat(CHATGPT, key, str(record.get("title") or ""), _seconds(record.get("create_time")), _said(turns))


def _chatgpt_said(message: dict[str, Any]) -> tuple[str, str]:
    content, metadata, author = (message.get(name) or {} for name in ("content", "metadata", "author"))
    if not all(isinstance(each, dict) for each in (content, metadata, author)):
        return "", ""
    role = author.get("role")
    is_hidden = message.get("weight") == 0 or metadata.get("is_visually_hidden_from_conversation")
    if is_hidden or role not in (HUMAN, ASSISTANT) or content.get("content_type") not in ("text", "multimodal_text"):
        return "", ""
    parts = content.get("parts")
    texts = [part.get("text") if isinstance(part, dict) else part for part in (parts if isinstance(parts, list) else ())]
    return str(role), _MARKS.sub("", "\n".join(text for text in texts if isinstance(text, str)))


def _claude_ai(record: dict[str, Any]) -> Chat:
    messages = [each for each in record.get("chat_messages") or () if isinstance(each, dict)]
    turns = ((HUMAN if each.get("sender") == "human" else ASSISTANT, _claude_ai_text(each)) for each in _newest_path(messages))
    said = _said((role, role, text) for role, text in turns)
    return Chat(CLAUDE_AI, str(record.get("uuid") or ""), str(record.get("name") or ""), _seconds(record.get("created_at")), said)


def _newest_path(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the messages up to the newest one by their parents; all in order, where an export has no parents."""
    by_id = {str(each.get("uuid")): each for each in messages}
    if not any(str(each.get("parent_message_uuid")) in by_id for each in messages):
        return messages
    path: list[dict[str, Any]] = []
    place: dict[str, Any] | None = max(messages, key=lambda each: str(each.get("created_at") or ""))
    while place is not None and place not in path:
        path.append(place)
        place = by_id.get(str(place.get("parent_message_uuid")))
    return path[::-1]


def _claude_ai_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list) and content:
        texts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))
    return str(message.get("text") or "")


def slack_chats(channel: str, messages: Iterable[dict[str, Any]], people: dict[str, str]) -> Iterator[Chat]:
    """Yields the threads of a channel, and what was said outside of threads by day. Messages may come in any order."""
    threads: dict[str, dict[str, dict[str, Any]]] = {}
    for message in messages:
        stamp = message.get("ts")
        if not isinstance(stamp, str) or _UNSAID.fullmatch(str(message.get("subtype"))):
            continue
        thread = message.get("thread_ts")
        day = f"{datetime.fromtimestamp(float(_exact(stamp)), UTC):%Y-%m-%d}"
        threads.setdefault(thread if isinstance(thread, str) else day, {})[stamp] = message
    for name, found in threads.items():
        stamps = sorted(found, key=_exact)
        turns = _said(_slack_said(found[stamp], people) for stamp in stamps)
        if turns:
            yield Chat(SLACK, f"{channel}/{name}", channel, float(_exact(stamps[0])), turns)


def _exact(stamp: str) -> Decimal:
    try:
        return min(max(Decimal(stamp), Decimal(0)), Decimal(10**11))
    except InvalidOperation:
        return Decimal(0)


def _slack_said(message: dict[str, Any], people: dict[str, str]) -> tuple[str, str, str]:
    user = str(message.get("user") or message.get("username") or message.get("bot_id") or "somebody")
    is_program = bool(message.get("bot_id")) or message.get("subtype") == "bot_message"
    return people.get(user, user)[:100], ASSISTANT if is_program else HUMAN, slack_text(str(message.get("text") or ""), people)


def slack_text(text: str, people: dict[str, str]) -> str:
    """Returns a message as it was read: names for ids, labels for links, then signs for their escapes."""

    def shown(found: re.Match[str]) -> str:
        sign, body = found[1], found[2]
        name, _, label = body.partition("|")
        if sign == "@":
            return f"@{people.get(name, label or name)}"
        if sign == "#":
            return f"#{label or name}"
        return f"@{label or name.partition('^')[0]}" if sign == "!" else label or name

    return html.unescape(re.sub(r"<([@#!]?)([^<>]+)>", shown, text))


_NAMED = r"[A-Z][\w.-]{0,30}(?: [A-Z][\w.-]{0,30})?|user|assistant|human|ai"
_LINE = re.compile(
    r"(?:\[?\d{1,4}[-/.:]\d{1,2}[-/.:]\d{1,4}[^\]\n]{0,20}?\]?\s*(?:-\s+)?)?"
    rf"(?:<(?P<irc>[\w .-]{{1,40}})>|\*\*(?P<bold>[^*:\n]{{1,40}}):?\*\*:?|(?P<plain>{_NAMED}):)\s+(?P<said>\S.*)$"
)
_PROGRAMS = frozenset(("assistant", "ai", "bot", "chatgpt", "claude", "gemini", "copilot", "system"))


def text_chat(key: str, text: str) -> Chat | None:
    """Returns the conversation that a text is: at least three turns of at least two speakers outside of code. `None` for a document."""
    found: list[list[str]] = []
    is_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        matched = None if is_code else _LINE.match(line.strip())
        if matched:
            found.append([matched["irc"] or matched["bold"] or matched["plain"], matched["said"]])
        elif found:
            found[-1].append(line)
    speakers = [name.strip().lower() for name, *_ in found]
    if len(found) < 3 or len(set(speakers)) < 2 or len(set(speakers)) * 2 > len(found) + 1:
        return None
    turns = ((name.strip(), ASSISTANT if name.strip().lower() in _PROGRAMS else HUMAN, "\n".join(said)) for name, *said in found)
    return Chat(TEXT, key, "", 0.0, _said(turns))


def _seconds(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 < value < 1e11 else 0.0
    try:
        return max(datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp(), 0.0)
    except (ValueError, OverflowError):
        return 0.0
