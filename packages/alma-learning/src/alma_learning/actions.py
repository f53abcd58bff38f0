"""Whether actions are the same call or command."""

import re
from functools import lru_cache

from alma_learning.differences import differ

PROGRAMS = frozenset(
    [
        "git",
        "kubectl",
        "docker",
        "helm",
        "pip",
        "npm",
        "npx",
        "yarn",
        "apt",
        "apt-get",
        "brew",
        "terraform",
        "ansible",
        "aws",
        "az",
        "gcloud",
        "systemctl",
        "curl",
        "wget",
        "rm",
        "cp",
        "mv",
        "psql",
        "mysql",
        "redis-cli",
        "make",
        "cargo",
        "go",
        "node",
        "python",
        "python3",
        "pytest",
        "ssh",
        "scp",
        "sudo",
        "chmod",
        "chown",
        "rosrun",
        "roslaunch",
        "ros2",
    ]
)
CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\(([^()]*)\)")


@lru_cache(50_000)
def read_steps(text: str) -> list[str]:
    """Returns the names of the calls that a text is made of."""
    if "→" in text or "->" in text:
        return [re.sub(r"\(.*", "", p).strip().casefold() for p in re.split("→|->", text)]
    return [n.split(".")[-1].casefold() for n, _ in CALL.findall(text)]


@lru_cache(50_000)
def read_calls(text: str) -> list[tuple[str, frozenset[str]]]:
    """Returns the calls and the command in a text, as name and arguments."""
    found = [
        (n.split(".")[-1].casefold(), frozenset(a.strip() for a in args.split(",") if a.strip()))
        for n, args in CALL.findall(text)
    ]
    parts = text.split()
    if (
        len(parts) > 1
        and (parts[0] in PROGRAMS or any(re.match(r"--?[a-z]", p) for p in parts[1:]))
        and not parts[0][0].isupper()
    ):
        name = [parts[0], *parts[1:2]] if re.fullmatch("[a-z-]+", parts[1]) and parts[1][0] != "-" else parts[:1]
        found.append((" ".join(name), frozenset(p for p in parts[1:] if p[0] == "-")))
    return found


def name_same_action(action: str, other: str) -> bool:
    """Returns True if both are the same call or command."""
    return any(n == m and (a <= b or b <= a) for n, a in read_calls(action) for m, b in read_calls(other)) and not differ(
        action, other
    )
