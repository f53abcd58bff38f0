"""The one model of what happens in a session, for all hosts. This module and what the hook stands on load the standard library alone."""

import shlex
from typing import Any, NamedTuple

START, PROMPT, BEFORE, TOOL, TURN, END = "start", "prompt", "before", "tool", "turn", "end"
SHELL, EDIT, OTHER = "shell", "edit", "other"


class Event(NamedTuple):
    """Something that happened.

    `kind` is one of the constants above, `tool` "shell", "edit" or "other", `name` the host's own name of the event. `ok` is `None` where
    no exit status judged; `text` is a prompt, `output` what a call printed. `at` is in seconds since 1970.
    """

    kind: str
    host: str
    session: str
    at: float = 0.0
    cwd: str = ""
    text: str = ""
    call: str = ""
    tool: str = ""
    command: str = ""
    path: str = ""
    old: str = ""
    new: str = ""
    ok: bool | None = None
    code: int | None = None
    output: str = ""
    name: str = ""


_COMMAND = ("command", "cmd", "script")
_PATH = ("file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "filename")
_FOLDER = ("workdir", "working_directory", "cwd", "dir_path", "directory")
_OLD = ("old_string", "oldString", "old_str")
_NEW = ("new_string", "newString", "new_str", "content", "file_text", "contents", "text")
_SHELLS = frozenset(
    (
        "bash",
        "shell",
        "exec_command",
        "local_shell",
        "run_shell_command",
        "powershell",
        "terminal",
        "execute_bash",
        "container.exec",
    )
)
_EDITS = frozenset(
    (
        *(
            "edit",
            "write",
            "multiedit",
            "notebookedit",
            "apply_patch",
            "replace",
            "write_file",
            "create",
            "strreplace",
            "str_replace",
        ),
        *("str_replace_editor", "file_editor", "edit_file", "patch", "delete"),
    )
)


def first(values: dict[str, Any], names: tuple[str, ...]) -> str:
    """Returns the first text under one of the names, else ""."""
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def kind_of_tool(name: str) -> str:
    """Returns whether a tool runs a command, changes a file, or does something else."""
    plain = name.lower()
    return SHELL if plain in _SHELLS else EDIT if plain in _EDITS else OTHER


def command_of(arguments: Any) -> str:
    """Returns the command line in a shell tool's arguments. A list that runs a script by `bash -lc` is that script."""
    if isinstance(arguments, str):
        return arguments
    value = next((arguments[name] for name in _COMMAND if arguments.get(name)), "")
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, str)]
        if len(parts) == 3 and parts[1] in ("-lc", "-c"):
            return parts[2]
        return " ".join(parts)
    return value if isinstance(value, str) else ""


def tool_event(host: str, session: str, tool: str, arguments: Any, **known: Any) -> Event:
    """Returns the event of a call, whatever the host calls its tools and arguments."""
    arguments = arguments if isinstance(arguments, dict | str) else {}
    kind = kind_of_tool(tool)
    if kind == SHELL:
        return Event(TOOL, host, session, tool=SHELL, command=_placed(command_of(arguments), arguments, known), **known)
    if kind == EDIT:
        patch = arguments if isinstance(arguments, str) else first(arguments, ("patch", "input", "patchText", "command"))
        if "*** " in patch:
            path, old, new = _patched(patch)
            return Event(TOOL, host, session, tool=EDIT, path=path, old=old, new=new, **known)
        if isinstance(arguments, dict) and arguments.get("command") in ("view", "undo_edit"):
            return Event(TOOL, host, session, tool=OTHER, **known)
        values = arguments if isinstance(arguments, dict) else {}
        return Event(
            TOOL, host, session, tool=EDIT, path=first(values, _PATH), old=first(values, _OLD), new=first(values, _NEW), **known
        )
    return Event(TOOL, host, session, tool=OTHER, command=tool, **known)


def _placed(command: str, arguments: Any, known: dict[str, Any]) -> str:
    """Returns a command line that begins in the folder which the call names."""
    folder = first(arguments, _FOLDER) if isinstance(arguments, dict) else ""
    if not command or not folder or folder.rstrip("/") == str(known.get("cwd") or "").rstrip("/"):
        return command
    return f"cd {shlex.quote(folder)} && {command}"


def _patched(patch: str) -> tuple[str, str, str]:
    """Returns the first file of a patch, the lines that it takes and those that it adds."""
    path = ""
    old: list[str] = []
    new: list[str] = []
    for line in patch.split("\n"):
        if line.startswith(("*** Update File: ", "*** Add File: ", "*** Delete File: ")):
            path = path or line.partition(": ")[2].strip()
        elif line.startswith("-"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
    return path, "\n".join(old), "\n".join(new)
