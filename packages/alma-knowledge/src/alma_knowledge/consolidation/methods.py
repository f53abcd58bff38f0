"""The method of `ALMA` that this package provides."""

from typing import Any

from alma.types.kinds import MemoryType
from alma_knowledge.consolidation.engine import THRESHOLD, configured_judge, consolidate
from alma_knowledge.consolidation.results import ConsolidationResult


class KnowledgeMethods:
    """Consolidates. `ALMA` has this method."""

    def consolidate(
        self,
        agent: str,
        kind: str | MemoryType | None = None,
        threshold: float = THRESHOLD,
        use_llm: bool = False,
        dry_run: bool = True,
    ) -> ConsolidationResult:
        """Finds stated memories of an agent that say the same, and with `dry_run=False` merges them, in one journal record that `undo` takes
        back.

        `kind` is a built-in or registered kind that is stated, all by default. Two memories are compared if the cosine of their vectors is at
        least `threshold`, and merged if nothing in their words speaks against it. Of a group one stays, with its id, the usage of all and the
        latest of their times; the others are archived. Pairs that the words leave open are listed. A merge that was undone is not made again.

        With `use_llm` the configured language model judges these pairs, words merged texts, and names the strategies of outcomes
        ("outcomes"), which are never merged, so that those in other words are counted together. `ConfigurationError` if none is configured.
        """
        alma: Any = self
        judge = configured_judge(alma) if use_llm else None
        return consolidate(alma, agent=agent, kind=kind, threshold=threshold, judge=judge, dry_run=dry_run)
