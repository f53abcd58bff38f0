"""Exports of chats as their programs write them."""

import json
import zipfile
from pathlib import Path
from typing import Any


def node(name: str, parent: str | None, role: str, text: str, **message: Any) -> dict[str, Any]:
    said = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}, "create_time": None, **message}
    return {name: {"id": name, "parent": parent, "children": [], "message": said if role else None}}


def chatgpt_chat(key: str = "c1", **more: Any) -> dict[str, Any]:
    """A chat with an edited question: the abandoned branch is the older one. A hidden message is part of it."""
    mapping = {
        **node("root", None, "", ""),
        **node("sys", "root", "system", "You are helpful.", weight=0),
        **node("ctx", "sys", "user", "Always answer in rhyme.", metadata={"is_visually_hidden_from_conversation": True}),
        **node("q", "ctx", "user", "We decided to use PostgreSQL for billing."),
        **node("old", "q", "assistant", "The abandoned answer about MySQL."),
        **node("new", "q", "assistant", "PostgreSQL it is\ue200cite\ue202turn0\ue201."),
        **node("tool", "new", "tool", "tool output that nobody said"),
        **node("last", "tool", "user", "From now on always use UTC timestamps."),
    }
    return {
        "conversation_id": key,
        "title": None,
        "create_time": 1767225600.5,
        "current_node": "last",
        "mapping": mapping,
        **more,
    }


def chatgpt(path: Path, *, shards: bool = False, torn: bool = False) -> Path:
    """An export as a file, or as an archive of two shards."""
    chats = [chatgpt_chat(), chatgpt_chat("secret", is_do_not_remember=True)]
    if shards:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("conversations-000.json", json.dumps(chats[:1]))
            archive.writestr("conversations-001.json", json.dumps([chatgpt_chat("c2")]))
            archive.writestr("../../evil.json", json.dumps([chatgpt_chat("c3")]))
            archive.writestr("chat.html", "<html>")
        return path
    text = json.dumps(chats, ensure_ascii=False)
    path.write_text(text[:-40] if torn else text, encoding="utf-8-sig")
    return path


def claude_ai(path: Path) -> Path:
    def said(name: str, parent: str, sender: str, text: str, at: str) -> dict[str, Any]:
        content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
        known = {"uuid": name, "parent_message_uuid": parent, "sender": sender, "created_at": at}
        return {**known, "content": content, "text": f"{text} This block is not supported"}

    messages = [
        said("1", "0", "human", "Never mock the database because it hides migrations that fail.", "2026-01-01T00:00:00Z"),
        said("2", "1", "assistant", "An answer that was regenerated.", "2026-01-01T00:01:00Z"),
        said("3", "1", "assistant", "I prefer tabs.", "2026-01-01T00:02:00Z"),
        said("4", "3", "human", "I prefer spaces over tabs.", "2026-01-01T00:03:00Z"),
    ]
    chat = {
        "uuid": "u1",
        "name": "Tests",
        "created_at": "2026-01-01T00:00:00.000Z",
        "chat_messages": messages,
        "account": {"uuid": "a"},
    }
    path.write_text(json.dumps([chat]))
    return path


def slack(folder: Path) -> Path:
    channel = folder / "general"
    channel.mkdir(parents=True)
    people = [{"id": "U1", "name": "ann", "profile": {"display_name": "Ann"}}, {"id": "U2", "name": "bo", "real_name": "Bo"}]
    (folder / "users.json").write_text(json.dumps(people))
    first = [
        {"type": "message", "subtype": "channel_join", "user": "U1", "ts": "1767225600.000100", "text": "<@U1> has joined"},
        {
            "type": "message",
            "user": "U1",
            "ts": "1767225600.000300",
            "thread_ts": "1767225600.000300",
            "text": "Which queue &amp; why &lt;now&gt;?",
        },
        {"type": "message", "user": "U2", "ts": "1767225600.000200", "text": "Hi <@U1>, see <https://a.example|the page>"},
        {"type": "message", "bot_id": "B1", "ts": "1767225600.000400", "text": "We decided to use the bot."},
    ]
    second = [
        {
            "type": "message",
            "user": "U2",
            "ts": "1767312000.000100",
            "thread_ts": "1767225600.000300",
            "text": "We agreed on Redis for the queue.",
        },
    ]
    (channel / "2026-01-01.json").write_text(json.dumps(first))
    (channel / "2026-01-02.json").write_text(json.dumps(second))
    return folder


def slack_zip(folder: Path) -> Path:
    slack(folder / "plain")
    with zipfile.ZipFile(folder / "slack.zip", "w") as archive:
        for path in sorted((folder / "plain").rglob("*.json")):
            archive.write(path, path.relative_to(folder / "plain").as_posix())
    return folder / "slack.zip"


def text(path: Path) -> Path:
    path.write_text(
        "User: We switched to uv for installs.\nAssistant: Good.\n```\nUser: We decided to use nothing.\n```\nUser: Thanks\nfor that.\n"
    )
    return path
