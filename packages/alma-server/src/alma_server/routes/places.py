"""Where things are that a request made: `Location`."""

from urllib.parse import quote

from alma_server.asking import Asked


def path_of(asked: Asked, *parts: str) -> str:
    """Returns the path of something in the project of a request, as the client addresses the project."""
    scope = asked.request.scope
    root = scope.get("root_path", "").rstrip("/")
    project = [] if scope.get("alma.is_bare", False) or asked.project is None else ["projects", asked.project]
    return f"{root}/v1/{'/'.join(quote(part, safe='') for part in (*project, *parts))}"


def place(asked: Asked, *parts: str) -> None:
    """Says in the answer where that which was made can be found."""
    asked.respond("Location", path_of(asked, *parts))
