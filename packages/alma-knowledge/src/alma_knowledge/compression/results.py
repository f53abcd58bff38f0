"""Values of a compression, as alma-memory published them, and as ALMA keeps them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Self

from alma.errors import ValidationError


class CompressionLevel(StrEnum):
    """Share of a text that is kept: all, two thirds, a third, a sixth of its tokens."""

    NONE = "none"
    LIGHT = "light"
    MEDIUM = "medium"
    AGGRESSIVE = "aggressive"


KEPT: Mapping[CompressionLevel, float] = {
    CompressionLevel.NONE: 1.0,
    CompressionLevel.LIGHT: 2 / 3,
    CompressionLevel.MEDIUM: 1 / 3,
    CompressionLevel.AGGRESSIVE: 1 / 6,
}
"""Share of the tokens of a text that a level keeps at most."""


class CompressionStrategy(StrEnum):
    """Way of compressing memories: not at all, to sentences that matter, to their beginning, or memories of a week and of a domain together too."""

    NONE = "none"
    SUMMARIZE = "summarize"
    TRUNCATE = "truncate"
    HIERARCHICAL = "hierarchical"


class _Plain:
    def to_dict(self) -> dict[str, Any]:
        """Returns the value as plain values."""
        return asdict(self)  # type: ignore[call-overload, no-any-return] # of a dataclass

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Returns the value of what `to_dict` gave. Unknown keys are passed over."""
        names = {each.name for each in fields(cls)}  # type: ignore[arg-type] # of a dataclass
        return cls(**{name: value for name, value in data.items() if name in names})


@dataclass(slots=True)
class CompressedMemory(_Plain):
    """A text in few words, all of them its own unless a language model wrote them. Lengths are in characters; `compression_ratio` is the former by
    the latter. `full_content` is "" where the configuration does not keep it."""

    original_length: int
    compressed_length: int
    compression_ratio: float
    key_facts: list[str]
    constraints: list[str]
    patterns: list[str]
    summary: str
    full_content: str

    def to_metadata(self) -> dict[str, Any]:
        """Returns all but the full content."""
        return {name: value for name, value in self.to_dict().items() if name != "full_content"}


@dataclass(slots=True)
class CompressionResult(_Plain):
    """Result for a text. `method` is "none", "extractive" or "llm". `error` says why a language model's words were not taken; `success` is True
    all the same, for the extractive summary stands."""

    compressed: CompressedMemory | None
    level: CompressionLevel
    method: str
    compression_time_ms: int = 0
    success: bool = True
    error: str | None = None


@dataclass(slots=True)
class CompressionConfig(_Plain):
    """Settings of a compressor. Texts of fewer than `min_length_for_compression` characters stay as they are. `llm_timeout_seconds` is alma-memory's:
    a model has a time limit of its own."""

    default_level: CompressionLevel = CompressionLevel.MEDIUM
    min_length_for_compression: int = 200
    max_key_facts: int = 5
    max_constraints: int = 3
    max_patterns: int = 3
    preserve_full_content: bool = True
    llm_timeout_seconds: float = 10.0

    def __post_init__(self) -> None:
        self.default_level = CompressionLevel(self.default_level)
        if min(self.min_length_for_compression, self.max_key_facts, self.max_constraints, self.max_patterns) < 0:
            raise ValidationError("lengths and limits of a compression are numbers from 0 on")


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that is kept: of one memory ("memory"), of a week's, or of a domain's. `sources` are the ids of all memories beneath it."""

    key: str
    level: str
    title: str
    text: str
    method: str
    sources: tuple[str, ...]
    children: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CompressReport:
    """Result of `alma.compress`: what was summarised, tokens before and after, and memories left as they are, by the reason.

    `errors` say where a language model's words were not taken. `journal_seq` is the journal record, `None` where nothing was written.
    """

    dry_run: bool
    strategy: CompressionStrategy
    summaries: tuple[Summary, ...] = ()
    unchanged: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    skipped: Mapping[str, int] | None = None
    errors: tuple[str, ...] = ()
    journal_seq: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        verb = "would be written" if self.dry_run else "written"
        said = [
            f"{len(self.summaries)} summaries {verb}, {self.unchanged} up to date: {self.tokens_before} tokens in {self.tokens_after}"
        ]
        said += [f"{count} memories left: {reason}" for reason, count in (self.skipped or {}).items()]
        return "; ".join([*said, *self.errors])
