"""The methods of `ALMA` that this package provides."""

from typing import Any

from alma.types.kinds import MemoryType
from alma_knowledge.compression.configured import read_settings
from alma_knowledge.compression.results import CompressionStrategy, CompressReport
from alma_knowledge.compression.summaries import compress
from alma_knowledge.consolidation.engine import THRESHOLD, configured_judge, consolidate
from alma_knowledge.consolidation.results import ConsolidationResult
from alma_knowledge.llm.configured import checked_model
from alma_knowledge.reflection.playbook import playbook
from alma_knowledge.reflection.reflecting import reflect
from alma_knowledge.reflection.results import ReflectionResult


class KnowledgeMethods:
    """Compresses, consolidates and reflects. `ALMA` has these methods."""

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

    def compress(
        self,
        older_than_days: float | None = None,
        strategy: str | None = None,
        preserve_high_confidence: bool | None = None,
        dry_run: bool = True,
        *,
        agent: str | None = None,
        llm: object = None,
    ) -> CompressReport:
        """Summarises memories older than `older_than_days`, 30 by default, and with `dry_run=False` keeps the summaries, in one journal record
        that `undo` takes back. The memories stay as they are, and stay what is searched.

        `strategy` is "summarize" (sentences that matter, a third of the tokens), "truncate" (the beginning), "hierarchical" (each week and each
        domain, too) or "none"; what is left out is that of the configuration's block `compression`. Preferences, rules, suspicious and short
        memories are left alone, and with `preserve_high_confidence`, true by default, facts of a confidence above .9. `llm` is any model that
        `as_llm` takes, or `True` for that of the configuration: its words are taken only where the memory bears them out.

        `alma.compression.read_summaries` returns what is kept and still valid. A summary goes with each memory that it names when that is purged.
        """
        alma: Any = self
        settings = read_settings(alma)
        usual = settings.strategy if settings.enabled else CompressionStrategy.NONE
        return compress(
            alma,
            older_than_days=settings.age_threshold_days if older_than_days is None else older_than_days,
            strategy=usual if strategy is None else strategy,
            preserve_high_confidence=settings.preserve_high_confidence
            if preserve_high_confidence is None
            else preserve_high_confidence,
            dry_run=dry_run,
            agent=agent,
            model=checked_model(alma, llm),
        )

    def reflect(self, agent: str, task_type: str | None = None, llm: object = None, dry_run: bool = True) -> ReflectionResult:
        """Finds which actions go with success and which with failure on like tasks, and with `dry_run=False` notes them as lessons, in one
        journal record that `undo` takes back.

        Runs are the agent's judged outcomes, with the steps of their episodes; `task_type` selects tasks of one stated type. A difference is
        noted if an exact test finds less than one by chance in 20 reflections. `llm` is any model that `as_llm` takes, or `True` for that of the
        configuration: it words at most 3 lessons for each kind of task, which may say no more than the runs that they cite.

        A lesson is a stated heuristic or anti-pattern, shown like any other. Only later episodes in which it was shown and cited count for it or
        against it; what they refute is archived by the next reflection. The same lesson is noted once, and not again after an undo.
        `ConfigurationError` for `llm=True` where none is configured.
        """
        alma: Any = self
        return reflect(alma, agent=agent, task_type=task_type, llm=llm, dry_run=dry_run)

    def playbook(self, agent: str, max_tokens: int = 1_000) -> str:
        """Returns the rules and lessons of an agent for a prompt, in sections, the best first, within `max_tokens`; "" where there are none.

        Tokens are estimated as by `alma.text.estimate_tokens`. A line that does not fit is left out whole.
        """
        alma: Any = self
        return playbook(alma, agent=agent, max_tokens=max_tokens)
