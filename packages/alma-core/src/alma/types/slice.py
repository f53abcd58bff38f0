"""What a retrieval returns."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from alma.errors import ValidationError
from alma.flags import checked
from alma.text import estimate_tokens, quoted
from alma.types.identity import UtcDatetime, utc_now
from alma.types.memories import AntiPattern, AnyMemory, CustomMemory, DomainKnowledge, Heuristic, Outcome, UserPreference
from alma.types.prompt import NOTHING_KNOWN, TokenCounter, fitted, note, render_prompt
from alma.types.reading import read_json
from alma.types.recalled import Recalled
from alma.types.tags import checked_prefix, cited_of, parts_of


class MemorySlice(BaseModel):
    """The memories that matter for one task, best first.

    Iterating gives the memories in rank order, `len()` counts them; `recalled` has them with scores. `hint` says what may be wrong when
    the slice is empty for a reason that a person can mend.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str = ""
    agent: str = ""
    project_id: str = ""
    retrieved_at: UtcDatetime = Field(default_factory=utc_now)
    recalled: tuple[Recalled, ...] = ()
    hint: str | None = None

    def __iter__(self) -> Iterator[AnyMemory]:  # type: ignore[override] # a slice is its memories, not its fields
        return (item.memory for item in self.recalled)

    def __len__(self) -> int:
        return len(self.recalled)

    @property
    def heuristics(self) -> list[Heuristic]:
        """The strategies, best first."""
        return [memory for memory in self if isinstance(memory, Heuristic)]

    @property
    def outcomes(self) -> list[Outcome]:
        """What happened before, best first."""
        return [memory for memory in self if isinstance(memory, Outcome)]

    @property
    def preferences(self) -> list[UserPreference]:
        """What the user wants, best first."""
        return [memory for memory in self if isinstance(memory, UserPreference)]

    @property
    def domain_knowledge(self) -> list[DomainKnowledge]:
        """The facts, best first."""
        return [memory for memory in self if isinstance(memory, DomainKnowledge)]

    @property
    def anti_patterns(self) -> list[AntiPattern]:
        """The warnings, best first."""
        return [memory for memory in self if isinstance(memory, AntiPattern)]

    @property
    def custom(self) -> dict[str, list[CustomMemory]]:
        """Memories of kinds that users registered, by kind, best first. A kind of which nothing was found is an empty list when asked for."""
        found: defaultdict[str, list[CustomMemory]] = defaultdict(list)
        for memory in self:
            if isinstance(memory, CustomMemory):
                found[memory.kind].append(memory)
        return found

    @property
    def total_items(self) -> int:
        """How many memories there are."""
        return len(self.recalled)

    @property
    def ids(self) -> list[str]:
        """The ids in rank order."""
        return [item.memory.id for item in self.recalled]

    @checked
    def to_prompt(
        self, max_tokens: int = 2000, *, count_tokens: TokenCounter = estimate_tokens, says_if_empty: bool = False
    ) -> str:
        """The slice as reference notes for a prompt, at most `max_tokens` by `count_tokens`; "" if there is nothing to say or no room.

        With `says_if_empty`, an empty slice is one line that says that nothing is known for such tasks.

        The same slice gives the same bytes. Whole items are left out, least first, never cut. `ValidationError` unless
        `max_tokens` is a whole number, 0 or more.
        """
        said = render_prompt(self.recalled, now=self.retrieved_at, max_tokens=max_tokens, count_tokens=count_tokens)
        if self.recalled or not says_if_empty:
            return said
        return NOTHING_KNOWN if count_tokens(NOTHING_KNOWN) <= max_tokens else ""

    def fitting(self, max_tokens: int = 2000, *, count_tokens: TokenCounter = estimate_tokens) -> "MemorySlice":
        """The slice of what `to_prompt` says with the same arguments: the same bytes, without the memories that it leaves out for room.

        An episode begun with it (`alma.episode(…, memories=found.fitting(500))`) holds as shown what reached the prompt and nothing else, so that
        nobody can be said to have cited or passed over what was never shown. Tags, scores and order stay as they are.
        """
        return self.fitted(max_tokens, count_tokens=count_tokens)[0]

    def fitted(self, max_tokens: int = 2000, *, count_tokens: TokenCounter = estimate_tokens) -> tuple["MemorySlice", str]:
        """What `fitting` and `to_prompt` give with the same arguments, made at once."""
        kept, notes = fitted(self.recalled, now=self.retrieved_at, max_tokens=max_tokens, count_tokens=count_tokens)
        return self if len(kept) == len(self.recalled) else self.model_copy(update={"recalled": kept}), notes

    def tagged(self, prefix: str) -> "MemorySlice":
        """Returns the slice with tags that begin with `prefix`, such as `[x7H1]`: no stored text can cite what it cannot know.

        `to_prompt`, `cited` and an episode that is begun with it (`memories=`) use these tags and ignore `[H1]`. Choose the prefix at random for
        each prompt (`secrets.token_hex(2)`); the same prefix gives the same bytes, "" the usual tags. `ValidationError` unless it consists of at
        most 16 of a-z and 0-9.
        """
        checked = checked_prefix(prefix)
        items = (item.model_copy(update={"tag": checked + parts_of(item.tag)[1]}) for item in self.recalled)
        return self.model_copy(update={"recalled": tuple(items)})

    def notes(self) -> list[str]:
        """What a prompt says of each memory, one line each, in rank order, without tags: for places where nobody looks for citations."""
        return [note(item.memory, self.retrieved_at, parts_of(item.tag)[0]) for item in self.recalled]

    def cited(self, text: str) -> list[str]:
        """Returns the ids of the memories whose tags stand in `text`, in rank order: [H1], [h1], [H1, A2].

        Tags of no memory of this slice are ignored. What a prompt says of a memory never reads as a tag, so quoting it cites nothing.
        """
        if not isinstance(text, str):
            raise ValidationError(f"cited needs a text, not {quoted(text)}")
        tags = cited_of([item.tag for item in self.recalled], text)
        return [item.memory.id for item in self.recalled if item.tag in tags]

    def to_json(self) -> str:
        """The whole slice as JSON; `from_json` gives an equal slice back."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, data: str | bytes) -> "MemorySlice":
        """The slice that `to_json` wrote. `ValidationError` if it is none."""
        return read_json(cls, data, "a slice")

    def to_dict(self) -> dict[str, Any]:
        """The slice as plain values that `json.dumps` takes."""
        return self.model_dump(mode="json")
