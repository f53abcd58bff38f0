"""Wake-up: who an agent is and what it must know, then memories on demand, then deep search, each within a budget."""

from pathlib import Path

from alma import ALMA
from alma.errors import ConfigurationError, ValidationError
from alma.types import MemorySlice
from alma_harness.essentials import essential_lines
from alma_harness.fitting import checked_budget, fitted_lines, line_of, tokens
from alma_integration import checked_alma, checked_name, fenced, optional_name

__all__ = ["MemoryStack", "wakeup"]

IDENTITY_TOKENS = 100
ON_DEMAND = 5
DEEP = 20
_LAYERS = {2: ON_DEMAND, 3: DEEP}


class MemoryStack:
    """Four layers of memory for one agent: identity (about 100 tokens), essential story (`l1_max_tokens`), on demand, deep search."""

    def __init__(self, alma: ALMA, *, agent: str, identity_path: str | Path | None = None, l1_max_tokens: int = 800) -> None:
        self.alma = checked_alma(alma)
        self.agent = checked_name(agent, "agent")
        self.identity = _identity(self.alma, self.agent, identity_path)
        self.l1_max_tokens = checked_budget(l1_max_tokens, "l1_max_tokens")
        self._user_id: str | None = None
        self._domain: str | None = None
        self._recalled: MemorySlice | None = None

    def wake_up(self, domain: str | None = None, user_id: str | None = None) -> str:
        """Returns the first two layers as fenced notes; with `domain`, the facts of that domain alone. Later calls are for this user."""
        self._domain, self._user_id = optional_name(domain, "domain"), optional_name(user_id, "user_id")
        self._recalled = None
        return self._story(IDENTITY_TOKENS + self.l1_max_tokens)

    def recall(self, query: str, layer: int = 2) -> MemorySlice:
        """Returns memories for a query: on demand (`layer=2`), or by deep search (`layer=3`), which returns more and ranks by meaning alone."""
        if layer not in _LAYERS or isinstance(layer, bool) or not isinstance(layer, int):
            raise ValidationError("layer is 2, on demand, or 3, deep search; wake_up returns the layers before")
        profile = "recall" if layer == 3 else None
        self._recalled = self.alma.retrieve(query, self.agent, user_id=self._user_id, top_k=_LAYERS[layer], profile=profile)
        return self._recalled

    def to_prompt(self, max_tokens: int = 2000) -> str:
        """Returns the wake-up text and what was last recalled, together at most `max_tokens`."""
        budget = checked_budget(max_tokens)
        story = self._story(min(budget, IDENTITY_TOKENS + self.l1_max_tokens))
        left = budget - tokens(f"{story}\n")
        if self._recalled is None or left <= 0:
            return story
        notes = self._recalled.to_prompt(left, count_tokens=tokens)
        return "\n".join(part for part in (story, notes) if part)

    def _story(self, max_tokens: int) -> str:
        return _text(self.alma, self.agent, self._user_id, max_tokens, self.identity, self._domain)


def wakeup(alma: ALMA, agent: object, user_id: object, max_tokens: object) -> str:
    """Returns the first two layers for an agent."""
    name, user, budget = checked_name(agent, "agent"), optional_name(user_id, "user_id"), checked_budget(max_tokens)
    return _text(alma, name, user, budget, _identity(alma, name, None), None)


def _text(alma: ALMA, agent: str, user_id: str | None, max_tokens: int, identity: list[str], domain: str | None) -> str:
    first = fitted_lines(identity, min(max_tokens, IDENTITY_TOKENS))
    lines = fitted_lines([*first, *essential_lines(alma, agent, user_id, domain)], max_tokens)
    return fenced(lines) if lines else ""


def _identity(alma: ALMA, agent: str, path: str | Path | None) -> list[str]:
    """Returns the lines of the identity file; without one, the names of the agent and the project."""
    own = [line_of("Agent", f"{agent}, project {alma.project_id}")]
    if path is None:
        return own
    try:
        file = Path(path).expanduser()
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
    except (OSError, UnicodeError, TypeError, ValueError, RuntimeError) as error:
        raise ConfigurationError(f"the identity file cannot be read as UTF-8 text: {str(error)[:200]}") from error
    return [*own, *(line_of("Identity", line) for line in text.splitlines() if line.strip())]
