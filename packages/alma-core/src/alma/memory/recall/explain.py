"""Why a memory is recalled for a question, or the one filter that keeps it out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alma.errors import MemoryNotFoundError
from alma.memory import arguments as args
from alma.memory.quarantine import reason_of
from alma.memory.recall.answer import Answer
from alma.memory.recall.explanations import equal_ones, explain_answer, explain_ranked, match_words
from alma.memory.recall.query import DENSE, TEXT, Query, RetrieveRequest, understand
from alma.memory.recall.rank import contenders_for, read_candidates, score
from alma.memory.recall.retrieve import find_answer
from alma.memory.recall.search import least_cosine, search_named
from alma.memory.room import Room
from alma.memory.rules import KIND_OF_SIDE, Rule, find_rules
from alma.protocols import ListsProjects, Place
from alma.retrieval.fusion import LEAST_SHARE, Contender
from alma.types.identity import Access, Partition, agent_in, user_in
from alma.types.memories import AnyMemory, Outcome
from alma.types.recalled import FACTOR_LABELS, Explanation, Floor, Reason, RetrievalExplanation
from alma.types.tags import not_an_id

_BOUNDLESS = 2**31
_NO_READER = "unknown"

FORGOTTEN = "it was forgotten: it is archived, and no search looks at it"
OWN_WORD = "it rests on the agent's own word or an import alone, which takes at most one place for three that others judged"


def explain_retrieval(room: Room, request: RetrieveRequest, *, memory_id: object) -> RetrievalExplanation:
    """Returns what `retrieve` with the same request does with one memory, and why. Without an agent, the reader is the memory's own owner."""
    wanted = args.checked_text(memory_id, "memory_id", limit=args.LONGEST_NAME)
    place = room.project.find([wanted]).get(wanted)
    rule = None if place is not None else find_rules(room, [wanted], with_archived=True).get(wanted)
    is_known, is_named = place is not None or rule is not None, request.agent is not None
    if not is_named:
        reader, user = _owner(room, place, rule, request.user_id)
        request = replace(request, agent=reader, user_id=user)
    query = understand(room, request)
    shown_as = query.reader if is_named or is_known else None
    explainer = _Explainer(room, query, wanted, shown_as, is_owners_view=not is_named and is_known)
    if place is not None:
        return explainer.explain_memory(place)
    return explainer.explain_absent() if rule is None else explainer.explain_rule(rule)


def _owner(room: Room, place: Place | None, rule: Rule | None, user_id: object) -> tuple[str, object]:
    """Returns the reader if none is named: the owner of the memory or rule; for a preference, the agent that stored it, for its user."""
    if rule is not None:
        return agent_in(rule.record.owner), user_in(rule.record.owner) if user_id is None else user_id
    if place is None:
        return _NO_READER, user_id
    partition = place.partition
    user = partition.user_id if user_id is None else user_id
    return partition.agent or _read(room, place.memory).agent or partition.owner, user


def _read(room: Room, row: int) -> AnyMemory:
    memory = room.project.memories([row]).get(row)
    if memory is None:
        raise MemoryNotFoundError(f"a memory of project {room.name!r} was purged while it was asked for; ask again")
    return memory


@dataclass(frozen=True, slots=True)
class _Explainer:
    """Explains one memory for one question: the first filter of a retrieval that keeps it out, or its numbers."""

    room: Room
    query: Query
    memory_id: str
    reader: str | None
    is_owners_view: bool

    def explain_absent(self) -> RetrievalExplanation:
        """Explains an id that neither a memory nor a rule of the project has."""
        storage, name = self.room.store.storage, self.room.name
        others = [other for other in storage.project_names() if other != name] if isinstance(storage, ListsProjects) else []
        if any(storage.project(other).find([self.memory_id]) for other in others):
            return self._left_out(Reason.OTHER_PROJECT, "it belongs to another project of this store, and a project is a wall")
        why = f"no memory of project {name!r} has the id {self.memory_id!r}{not_an_id(self.memory_id)}"
        return self._left_out(Reason.UNKNOWN, why)

    def explain_rule(self, rule: Rule) -> RetrievalExplanation:
        """Explains a learned rule: it is shown with the table of the tasks that its outcomes are about."""
        of = Partition(0, is_user=False, owner=rule.record.owner, kind=KIND_OF_SIDE[rule.record.side].value)
        access = self._access(of)
        if not access.is_open:
            return self._left_out(Reason.SCOPE, self._explain_closed(access, of), access=access)
        if rule.is_archived:
            return self._left_out(Reason.ARCHIVED, FORGOTTEN)
        answer = find_answer(self.room, self.query)
        shown = next((one for one in answer.rules.rules if one.memory.id == rule.id), None) if answer else None
        if shown is None:
            why = "the outcomes behind it are on other tasks than this one, or do not amount to a rule there"
            return self._left_out(Reason.OVERRULED, why)
        said = shown.memory.described(None)
        return self._make(
            Reason.SELECTED, f"Selected because: {_say_factors(shown.factors, shown.usefulness)}; score {shown.score:.3f}; {said}"
        )

    def explain_memory(self, place: Place) -> RetrievalExplanation:
        """Explains a stored memory, by the filters in the order in which a retrieval applies them."""
        row, times = place.memory, self.query.times
        access = self._access(place.partition)
        if not access.is_open:
            return self._left_out(Reason.SCOPE, self._explain_closed(access, place.partition), access=access)
        if place.is_archived:
            doubt = reason_of(self.room, self.memory_id)
            gone = f"it is in quarantine: it {doubt}" if doubt else FORGOTTEN
            return self._left_out(Reason.ARCHIVED, gone, access=access)
        if times is not None and (why := times.why_not(_read(self.room, row))):
            return self._left_out(Reason.OUTSIDE_TIMES, why, access=access)
        answer = find_answer(self.room, self.query)
        assert answer is not None
        if row in answer.ranking.hidden:
            return self._left_out(Reason.OVERRULED, OWN_WORD, access=access)
        if any(item.memory == row for item in answer.order):
            return self._explain_selected(explain_answer(self.room, answer)[row])
        if self.query.verified and row in answer.dispreferred:
            why, by = answer.dispreferred[row]
            text = f"{by} contradicts it and is {why}; verified=False would return it"
            return self._left_out(Reason.CONTRADICTED, text, stands_for_it=by)
        if row in answer.ranking.folded:
            standing = answer.ranking.memories[answer.ranking.folded[row]]
            says = "is of the same attempt" if isinstance(standing, Outcome) else "says the same of the same tasks"
            text = f"it {says} as {standing.id}, which stands for it"
            return self._left_out(Reason.FOLDED, text, stands_for_it=standing.id)
        return self._explain_scored(answer, row)

    def _explain_scored(self, answer: Answer, row: int) -> RetrievalExplanation:
        """Explains a readable memory that is neither returned nor folded into another, with its numbers."""
        room, query, found = self.room, self.query, answer.found
        if found.place_of(row) is None:
            index = room.index.current(query.scope.rows)
            found = search_named(room, index, answer.query, also=np.array([row]))
        at = found.place_of(row)
        ranked = []
        if at is not None:
            alone = [Contender(row, float(found.similarities[at]), 1)]
            candidates = [one for one in answer.ranking.candidates if one.memory == row] or read_candidates(room, query, [row])
            ranked = score(query, alone, candidates, top_k=1)
        if at is None or not ranked:
            return self._left_out(Reason.ARCHIVED, "it was forgotten just now")
        explanation = explain_ranked(room, answer, found, ranked[0], match_words(room, answer, [row])[row])
        numbers: dict[str, Any] = {"explanation": explanation, "access": explanation.access}
        if not found.is_relevant[at]:
            floor = Floor(cosine=least_cosine(room, explanation.arms), share=LEAST_SHARE)
            return self._left_out(Reason.BELOW_FLOOR, _beside_the_point(explanation, floor), floor=floor, **numbers)
        equal = equal_ones(room, answer, row)
        if equal and equal[0] != row:
            other = _read(room, equal[0]).id
            why = f"it says the same as {other}, which stands for all {len(equal)} memories of that content"
            return self._left_out(Reason.FOLDED, why, stands_for_it=other, **numbers)
        last = [other.score for other in answer.order if other.kind == ranked[0].kind][-1:]
        needed = self._top_k_that_returns(row)
        reason, why = self._why_behind(explanation, bool(equal), any(one.memory == row for one in answer.contenders))
        rest = f"; the last {ranked[0].kind} returned has {last[0]:.4f}" if last else ""
        remedy = f"; top_k={needed} would return it" if needed else ""
        return self._left_out(reason, f"{why}{rest}{remedy}", score_needed=next(iter(last), None), top_k_needed=needed, **numbers)

    def _why_behind(self, told: Explanation, is_found: bool, is_contender: bool) -> tuple[Reason, str]:
        """Returns why a relevant memory is behind the last one returned."""
        if not is_found:
            return Reason.NOT_A_CANDIDATE, (
                f"neither search of this large scope brought it up: too many others are nearer in meaning than its cosine {told.cosine:.3f} "
                f"and have more of the words than its share {told.share:.3f}; its score would be {told.score:.4f}"
            )
        if not is_contender:
            return Reason.NOT_A_CONTENDER, (
                f"its similarity {told.similarity:.4f} is not among the {contenders_for(self.query.top_k)} greatest of its kind, which alone "
                f"are scored; its score would be {told.score:.4f}"
            )
        return Reason.BELOW_LAST, f"its score {told.score:.4f} ({_factors_of(told)}) is too low"

    def _top_k_that_returns(self, row: int) -> int | None:
        """Returns a `top_k` greater than the one given that returns a memory, tried out; `None` if the largest does not."""
        wider = self._answer(args.LARGEST_TOP_K)
        if all(item.memory != row for item in wider.order):
            return None
        top_k = _least_top_k(wider, row, self.query.top_k)
        while top_k < args.LARGEST_TOP_K and all(item.memory != row for item in self._answer(top_k).order):
            top_k = min(2 * top_k, args.LARGEST_TOP_K)
        return top_k

    def _answer(self, top_k: int) -> Answer:
        answer = find_answer(self.room, replace(self.query, top_k=top_k))
        assert answer is not None
        return answer

    def _access(self, partition: Partition) -> Access:
        query = self.query
        return self.room.scopes.access_to(partition, agent=query.reader, user_id=query.user, include_shared=query.include_shared)

    def _explain_closed(self, access: Access, of: Partition) -> str:
        owner, reader = of.agent or of.owner, self.query.reader
        if access is Access.NOT_SHARED:
            return (
                f"{owner!r}, who owns it, shares nothing with {reader!r}, and {reader!r} does not inherit from {owner!r}; "
                f"share_with of {owner!r} or inherit_from of {reader!r} would let it in"
            )
        if access is Access.LEFT_OUT:
            return f"{owner!r}, who owns it, has a share_with that leaves {reader!r} out; only naming {reader!r} there would let it in"
        return access.described

    def _explain_selected(self, told: Explanation) -> RetrievalExplanation:
        factors = f"Selected because: {_factors_of(told)}; score {told.score:.3f}, rank {told.rank}"
        words = [f"words matched: {', '.join(told.words)}"] if told.words else []
        text = "; ".join([factors, *words, told.access.described])
        return self._make(Reason.SELECTED, text, access=told.access, explanation=told)

    def _left_out(self, reason: Reason, why: str, **more: Any) -> RetrievalExplanation:
        return self._make(reason, f"Not selected because: {why}", **more)

    def _make(self, reason: Reason, text: str, **more: Any) -> RetrievalExplanation:
        view = f" (asked as its owner {self.reader!r}, since no agent was named)" if self.is_owners_view else ""
        return RetrievalExplanation(
            query=self.query.task,
            memory_id=self.memory_id,
            agent=self.reader,
            user_id=self.query.user,
            top_k=self.query.top_k,
            is_owners_view=self.is_owners_view,
            reason=reason,
            text=text + view,
            **more,
        )


def _say_factors(values: Mapping[str, float], usefulness: float) -> str:
    parts = [f"{label}={values[name]:.2f}" for name, label in FACTOR_LABELS.items()]
    return ", ".join([*parts, f"usefulness={usefulness:.2f}"] if usefulness != 1.0 else parts)


def _factors_of(told: Explanation) -> str:
    return _say_factors({name: part.value for name, part in told.factors.items()}, told.usefulness)


def _beside_the_point(told: Explanation, floor: Floor) -> str:
    below = {
        DENSE: f"its cosine {told.cosine:.3f} is below {floor.cosine:.2f}",
        TEXT: f"its share of matching words {told.share:.3f} is below {LEAST_SHARE:.2f}",
    }
    return f"it is not about the query: {', and '.join(below[arm] for arm in told.arms)}"


def _least_top_k(wider: Answer, row: int, given: int) -> int:
    """Returns the least `top_k` for which a memory is among the contenders of its kind and among the best of them, were those all there are."""
    ranking = score(wider.query, wider.contenders, wider.ranking.candidates, _BOUNDLESS)
    kind = next(item.kind for item in ranking if item.memory == row)
    order = {item.memory: place for place, item in enumerate(ranking) if item.kind == kind}
    first = {one.memory: place for place, one in enumerate(one for one in wider.contenders if one.memory in order)}
    ahead = np.sort([place for other, place in first.items() if order[other] < order[row]])
    fits = (
        top_k
        for top_k in range(given + 1, args.LARGEST_TOP_K)
        if contenders_for(top_k) > first[row] and ahead.searchsorted(contenders_for(top_k)) < top_k
    )
    return next(fits, args.LARGEST_TOP_K)
