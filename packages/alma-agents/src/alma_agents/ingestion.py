"""Past transcripts and exports of chats into the memory: streaming, resumable, and the same again adds nothing."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, groupby, islice
from pathlib import Path
from typing import IO, Any

from alma import ALMA, AntiPattern, DomainKnowledge, UserPreference
from alma.types import Conversation, Memory, Turn
from alma_agents import chats, opencode, reports, sources, storing, streaming
from alma_agents.attempts import Attempt, Session
from alma_agents.chats import Chat, Said
from alma_agents.events import PROMPT, TOOL, Event
from alma_agents.learning import learned
from alma_agents.opening import Progress, opened
from alma_agents.project_files import ingest_directory
from alma_agents.reports import IngestReport, report_as_json
from alma_agents.storing import Shelf, Source, digest_of
from alma_agents.transcripts import events, format_of, records
from alma_agents.warning import note_commands
from alma_integration import checked_name, optional_name
from alma_knowledge.extraction import statements

_HEAD = 30
_BATCH = 200
_MOST_PROMPTS = 2_000
_GUESSED = 0.8


def ingest_conversations(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    agent: str | None = None,
    project_id: str | None = None,
    alma: ALMA | None = None,
    *,
    user_id: str | None = None,
    progress: Progress | None = None,
) -> IngestReport:
    """Learns from transcripts and exports of chats in files, folders and archives.

    Repairs become outcomes of their host, judged "imported". Chats of ChatGPT, Claude.ai, Slack and plain text become conversations; what people
    state in them outright becomes knowledge (decisions) and anti-patterns, and with a `user_id` preferences. Then all of it is that user's.
    `agent` owns what is learned, by default the host or the format. Without `alma`, the project `project_id` in `.alma` is opened.
    Nothing in a file is opened as a path. `ValidationError` for a path that does not exist.
    """
    named = [path] if isinstance(path, str | os.PathLike) else list(path)
    owner = None if agent is None else checked_name(agent, "agent")
    user = optional_name(user_id, "user_id")
    with opened(alma, project_id) as memory:
        return _Ingestion(memory, owner, user, progress).run([Path(each) for each in named])


class _Ingestion:
    """One run over files."""

    def __init__(self, alma: ALMA, agent: str | None, user: str | None, progress: Progress | None) -> None:
        self.alma, self.agent, self.user, self.progress = alma, agent, user, progress
        self.report = IngestReport()
        self.shelf = Shelf(alma, user)
        self.started = self.shelf.records.now()
        self.done = self.total = 0

    def run(self, paths: list[Path]) -> IngestReport:
        report = self.report
        before = int(self.alma.get_stats()["outcomes_count"])
        if self.progress is not None:
            self.total = sum(file.size for file in sources.files(paths, {}))
        for group, found in groupby(sources.files(paths, report.skipped), key=lambda file: file.group):
            if group:
                self._grouped(group, found)
            else:
                for file in found:
                    self._file(file)
        self.shelf.flush()
        report.take(self.shelf)
        new = int(self.alma.get_stats()["outcomes_count"]) - before
        report.saved += new
        report.known += report.attempts - new
        return report

    def _file(self, file: sources.File) -> None:
        self.report.files += 1
        key = f"file/{digest_of(os.path.abspath(file.name), self.agent, self.user)}"
        state = digest_of(file.size, file.changed, storing.VERSION)
        if self._is_known(key, state):
            self._count(file.size)
            return
        counts = self.report.attempts, self.report.sessions, self.shelf.total
        start = self.done
        try:
            with file.open() as stream:
                reason = self._read(file, stream)
        except (OSError, EOFError, ValueError) as problem:
            reason = f"cannot be read: {problem}"
        self._count(file.size - (self.done - start))
        if reason:
            self.report.skipped[file.name] = reason
            return
        self.shelf.flush()
        now = self.report.attempts, self.report.sessions, self.shelf.total
        facts = dict(zip(("attempts", "sessions", "memories"), (b - a for a, b in zip(counts, now, strict=True)), strict=True))
        record = self.shelf.records.get(key)
        self.shelf.records.put(key, {"digest": state, **facts}, version=record.version if record else 0)

    def _is_known(self, key: str, state: str) -> bool:
        """Returns True for a file that has not changed since it was read, and counts what it holds."""
        record = self.shelf.records.get(key)
        if record is None or record.body.get("digest") != state:
            return False
        self.report.unchanged += 1
        self.report.attempts += int(record.body.get("attempts", 0))
        self.report.sessions += int(record.body.get("sessions", 0))
        self.shelf.known += int(record.body.get("memories", 0))
        return True

    def _count(self, size: int) -> None:
        self.done += size
        if self.progress is not None:
            self.progress(min(self.done, self.total), self.total)

    def _read(self, file: sources.File, stream: IO[bytes]) -> str:
        """Learns from one stream; returns why not, "" if it did."""
        head = stream.read(4096)
        if opencode.is_database(head):
            return self._database(file)
        whole = _Joined(head, stream, self._count)
        if file.name.endswith((".txt", ".md")):
            return self._text(file, whole)
        found = self._good(streaming.elements(whole) if streaming.is_array(head) else _records(whole))
        first = list(islice(found, _HEAD))
        host = format_of(first)
        if host == "cursor":
            return "a transcript of Cursor: it has no results of tools, so nothing can be judged"
        if host:
            self._transcript(host, file.name, chain(first, found))
        elif any(chats.form_of(one) for one in first[:3]):
            for record in chain(first, found):
                if chats.form_of(record) and (chat := chats.chat_of(record)) is not None:
                    self._chat(chat)
        else:
            return "unknown format" if first or file.size else "empty"
        return ""

    def _database(self, file: sources.File) -> str:
        path = Path(file.name)
        if not path.is_file():
            return "a database in an archive; unpack it"
        try:
            self._events(opencode.HOST, file.name, opencode.events_in(path))
        except sqlite3.Error as problem:
            return f"no database of opencode: {problem}"
        return ""

    def _good(self, found: Iterable[dict[str, Any] | None]) -> Iterator[dict[str, Any]]:
        for record in found:
            if record is None:
                self.report.torn += 1
            else:
                yield record

    def _transcript(self, host: str, name: str, found: Iterable[dict[str, Any]]) -> None:
        self._events(host, name, events(host, found))

    def _events(self, host: str, name: str, found: Iterable[Event]) -> None:
        sessions: dict[str, Session] = {}
        waiting: list[Attempt] = []
        prompts: dict[str, float] = {}
        for event in found:
            if event.kind == PROMPT and self.user and len(prompts) < _MOST_PROMPTS:
                stated = (each.text for each in statements.read_statements(event.text) if each.kind == statements.PREFERENCE)
                prompts |= dict.fromkeys(stated, event.at)
            if event.kind != TOOL:
                continue
            waiting += sessions.setdefault(event.session, Session()).add(event)
            if len(waiting) >= _BATCH:
                self._learn(waiting)
                waiting = []
        waiting += [attempt for session in sessions.values() for attempt in session.end()]
        self._learn(waiting)
        for name_of_session, session in sessions.items():
            note_commands(self.alma, name_of_session, session.ran)
        self.report.formats[host] += 1
        self.report.sessions += len(sessions)
        if prompts and self.user:
            made = [self._preference(host, text, name, self._time(at)) for text, at in prompts.items()]
            digest = digest_of(*prompts, *prompts.values())
            self.shelf.put(Source(f"prompts/{digest_of(name, self.user)}", name, digest, list(made)))

    def _learn(self, found: list[Attempt]) -> None:
        self.report.attempts += len(found)
        made = learned(self.alma, found, source="imported", agent=self.agent)
        new = (one for one in made if one.created_at >= self.started)
        self.report.outcomes += islice(new, max(reports.MOST_KEPT - len(self.report.outcomes), 0))

    def _grouped(self, group: str, found: Iterable[sources.File]) -> None:
        """Learns from the files of a folder that belong together: the days of a Slack channel, the events of OpenHands."""
        messages = self._members(found)
        head = list(islice(messages, 3))
        both = chain(head, messages)
        if any(chats.form_of(one) == chats.SLACK for one in head):
            people = _people(sources.beside(group, "users.json") or sources.beside(group, "org_users.json"))
            channel = group.replace("\\", "/").rpartition("/")[2].rpartition("!")[2]
            for chat in chats.slack_chats(channel, map(_spoken, both), people):
                self._chat(chat)
        elif format_of(head) == "openhands":
            self._transcript("openhands", group, ({**one, "session_id": Path(group).parent.name} for one in both))
        else:
            for _ in both:
                pass
            self.report.skipped[group] = "unknown format"

    def _members(self, found: Iterable[sources.File]) -> Iterator[dict[str, Any]]:
        for file in found:
            self.report.files += 1
            with file.open() as stream:
                head = stream.read(4096)
                whole = _Joined(head, stream, self._count)
                yield from self._good(streaming.elements(whole) if streaming.is_array(head) else _records(whole))

    def _text(self, file: sources.File, stream: "_Joined") -> str:
        if file.size > streaming.LONGEST_RECORD:
            return "too large for a text"
        chat = chats.text_chat(os.path.abspath(file.name), _decoded(stream.read()))
        if chat is None:
            return "no chat: fewer than three turns of two speakers (alma ingest --files reads documents)"
        self._chat(chat._replace(at=chat.at or file.changed, title=Path(file.name).name))
        if chat.unread:
            self.report.skipped[file.name] = _unread(chat.unread)
        return ""

    def _chat(self, chat: Chat) -> None:
        if not chat.turns:
            return
        self.report.formats[chat.form] += 1
        content = digest_of(*(part for said in chat.turns for part in said))
        name = chat.key or content
        key = f"chat/{digest_of(chat.form, name, self.agent, self.user)}"
        memories = list(self._memories(chat, digest_of(name)[:16]))
        self.shelf.put(Source(key, chat.title or chat.key, digest_of(storing.VERSION, content), memories))

    def _memories(self, chat: Chat, digest: str) -> Iterator[Memory]:
        """Yields the conversation, in parts of a bounded size, and what people state in it."""
        known: dict[str, Any] = {
            "agent": self.agent or chat.form,
            "user_id": self.user,
            "metadata": {"ingested": {"format": chat.form, "title": chat.title[:200]}},
        }
        for number, turns in enumerate(_parts(chat)):
            name = f"{chat.form}-{digest}" + (f"-{number + 1}" if number else "")
            part = tuple(Turn(said.speaker, said.text, said.role == chats.HUMAN) for said in turns)
            yield Conversation(session_id=name, turns=part, held_at=self._time(turns[0].at or chat.at), **known)
        stated = [(one, said) for said in chat.turns if said.role == chats.HUMAN for one in statements.read_statements(said.text)]
        for one, said in {one.text: (one, said) for one, said in stated}.values():  # what is said again holds since then
            yield from self._stated(chat, said, one, known)

    def _time(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, UTC) if at else self.started

    def _stated(self, chat: Chat, said: Said, one: statements.Statement, known: dict[str, Any]) -> Iterator[Memory]:
        at = self._time(said.at or chat.at)
        if one.kind == statements.WARNING:
            yield AntiPattern(pattern=one.text, why_bad=one.why, confidence=_GUESSED, last_seen=at, **known)
        elif one.kind == statements.DECISION:
            yield DomainKnowledge(
                domain="decision", fact=one.text, source=chat.form, confidence=_GUESSED, last_verified=at, **known
            )
        elif (
            one.kind == statements.PREFERENCE
            and self.user
            and chat.form != chats.SLACK
            and said.speaker.lower() in ("user", "human")
        ):
            yield self._preference(chat.form, one.text, chat.title, at)

    def _preference(self, form: str, text: str, name: str, at: datetime) -> UserPreference:
        facts = {"ingested": {"format": form, "title": name[-200:]}}
        return UserPreference(
            agent=self.agent or form,
            user_id=str(self.user),
            category="stated",
            preference=text,
            source=form,
            confidence=_GUESSED,
            timestamp=at,
            metadata=facts,
        )


def _parts(chat: Chat) -> Iterator[tuple[Said, ...]]:
    """Yields the turns in parts of a bounded size, each of one day: a conversation has one time."""
    part: list[Said] = []
    size = 0
    for said in chat.turns:
        if part and (size + len(said.text) > _MOST_CHARACTERS or abs(said.at - part[0].at) > _DAY):
            yield tuple(part)
            part, size = [], 0
        part.append(said)
        size += len(said.text)
    yield tuple(part)


_MOST_CHARACTERS = 500_000
_DAY = 24 * 3600.0


def _unread(lines: Sequence[int]) -> str:
    """Says which lines of a chat were left out, since no speaker is known of them."""
    listed = ", ".join(map(str, lines[:_MOST_LINES])) + (
        f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    )
    return f"without a speaker, so left out: line{'s' if len(lines) > 1 else ''} {listed}"


_MOST_LINES = 50


class _Joined:
    """A stream of which the first bytes have been read, and which counts what is read."""

    def __init__(self, head: bytes, rest: IO[bytes], count: Callable[[int], None]) -> None:
        self._head, self._rest, self._count = head, rest, count

    def read(self, size: int = -1) -> bytes:
        """Returns the next bytes."""
        head, self._head = self._head, b""
        data = head + self._rest.read(size if size < 0 else max(size - len(head), 0))
        self._count(len(data))
        return data

    def readline(self, size: int = -1) -> bytes:
        """Returns the next line."""
        if b"\n" in self._head:
            line, sign, self._head = self._head.partition(b"\n")
            line += sign
        else:
            head, self._head = self._head, b""
            line = head + self._rest.readline(size)
        self._count(len(line))
        return line


def _records(stream: streaming.Bytes) -> Iterator[dict[str, Any] | None]:
    """Yields the records of a file of lines, or the one object that a file is."""
    first = streaming.lines(stream)
    line = next(first, b"")
    if line.strip() in (b"{", b"\xef\xbb\xbf{") or (line.strip() and not _is_object(line)):
        rest = stream.read(streaming.LONGEST_RECORD)
        if _is_object(line + rest):
            yield json.loads(line + rest)
            return
        yield from records(chain([line], (each + b"\n" for each in rest.split(b"\n"))))
        return
    yield from records(chain([line], first))


def _is_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


def _spoken(message: dict[str, Any]) -> dict[str, Any]:
    """Returns what is kept of a message of Slack."""
    return {
        name: message[name] for name in ("ts", "thread_ts", "subtype", "user", "username", "bot_id", "text") if name in message
    }


def _people(data: bytes) -> dict[str, str]:
    try:
        listed = json.loads(data)
    except ValueError:
        return {}
    found = {}
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict):
            given = one.get("profile")
            profile = given if isinstance(given, dict) else {}
            name = profile.get("display_name") or one.get("real_name") or profile.get("real_name") or one.get("name")
            found[str(one.get("id"))] = str(name or one.get("id"))
    return found


def _decoded(data: bytes) -> str:
    for encoding in ("utf-8-sig", "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


__all__ = ["IngestReport", "ingest_conversations", "ingest_directory", "report_as_json"]
