"""Exports of chats as conversations: ChatGPT, Claude.ai, Slack, plain text and Markdown. Who spoke decides what may be learned."""

import html
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from alma_agents.text_chats import read_text

CHATGPT, CLAUDE_AI, SLACK, TEXT = "chatgpt", "claude-ai", "slack", "text"
HUMAN, ASSISTANT = "user", "assistant"
_LONGEST_TURN, _LONGEST_NAME = 50_000, 200
_MARKS = re.compile("\ue200[^\ue201]*\ue201|[\ue200-\ue202]")
_UNSAID = re.compile(r"(channel|group)_(join|leave|topic|purpose|name|archive)|bot_add|pinned_item|reminder_add|tombstone")


class Said(NamedTuple):
    """A message of one speaker. `role` is "user" for people, "assistant" for models and programs. `at` is its time in seconds since 1970, that
    of the message before it if it has none, 0 if that is unknown."""

    speaker: str
    role: str
    text: str
    at: float


class Chat(NamedTuple):
    """One conversation. `key` names it, however often it is exported; `at` is its beginning in seconds since 1970, 0 if that is unknown.
    `unread` has the numbers of the lines of a text that no speaker is known of."""

    form: str
    key: str
    title: str
    at: float
    turns: tuple[Said, ...]
    unread: tuple[int, ...] = ()


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


def _said(found: Iterable[tuple[str, str, str, float]]) -> tuple[Said, ...]:
    turns: list[Said] = []
    for speaker, role, text, at in found:
        if cleaned := text.replace("\x00", "").strip():
            name = "".join(filter(str.isprintable, speaker)).strip()[:_LONGEST_NAME] or "somebody"
            turns.append(Said(name, role, cleaned[:_LONGEST_TURN], at or (turns[-1].at if turns else 0.0)))
    return tuple(turns)


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
    turns = ((*_chatgpt_said(message), _seconds(message.get("create_time"))) for message in reversed(path))
    key = str(record.get("conversation_id") or record.get("id") or "")
    return Chat(CHATGPT, key, str(record.get("title") or ""), _seconds(record.get("create_time")), _said(turns))


def _chatgpt_said(message: dict[str, Any]) -> tuple[str, str, str]:
    content, metadata, author = (message.get(name) or {} for name in ("content", "metadata", "author"))
    if not all(isinstance(each, dict) for each in (content, metadata, author)):
        return "", "", ""
    role = author.get("role")
    is_hidden = message.get("weight") == 0 or metadata.get("is_visually_hidden_from_conversation")
    if is_hidden or role not in (HUMAN, ASSISTANT) or content.get("content_type") not in ("text", "multimodal_text"):
        return "", "", ""
    parts = content.get("parts")
    texts = [part.get("text") if isinstance(part, dict) else part for part in (parts if isinstance(parts, list) else ())]
    return str(role), str(role), _MARKS.sub("", "\n".join(text for text in texts if isinstance(text, str)))


def _claude_ai(record: dict[str, Any]) -> Chat:
    messages = [each for each in record.get("chat_messages") or () if isinstance(each, dict)]
    roles = ((HUMAN if each.get("sender") == "human" else ASSISTANT, each) for each in _newest_path(messages))
    turns = _said((role, role, _claude_ai_text(each), _seconds(each.get("created_at"))) for role, each in roles)
    return Chat(
        CLAUDE_AI, str(record.get("uuid") or ""), str(record.get("name") or ""), _seconds(record.get("created_at")), turns
    )


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
        turns = _said((*_slack_said(found[stamp], people), float(_exact(stamp))) for stamp in stamps)
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
    return people.get(user, user), ASSISTANT if is_program else HUMAN, slack_text(str(message.get("text") or ""), people)


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


def text_chat(key: str, text: str) -> Chat | None:
    """Returns the conversation that a text is, `None` for a document."""
    read = read_text(text)
    if read is None:
        return None
    turns = _said((each.speaker, ASSISTANT if each.is_program else HUMAN, each.text, each.at) for each in read.turns)
    return Chat(TEXT, key, "", next((said.at for said in turns if said.at), 0.0), turns, read.unread)


def _seconds(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 < value < 1e11 else 0.0
    try:
        return max(datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp(), 0.0)
    except (ValueError, OverflowError):
        return 0.0
