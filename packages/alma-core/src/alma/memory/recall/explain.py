"""Why a memory is recalled for a question, or the one filter that keeps it out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alma.errors import MemoryNotFoundError
from alma.memory import arguments as args
from alma.memory.quarantine import reason_of
from alma.memory.recall.answering import (
    Answer,
    Asked,
    answered,
    asked,
    candidates_of,
    contenders_for,
    scored,
)
from alma.memory.recall.explanations import equal_ones, explained, explanations, place_in, words_in
from alma.memory.recall.learned import LearnedItem
from alma.memory.recall.named_speakers import search_named
from alma.memory.recall.request import RetrieveRequest
from alma.memory.recall.search import DENSE, TEXT, Evidence, least_cosine
from alma.memory.room import Room
from alma.memory.rules import KIND_OF_SIDE, Rule, find_rules
from alma.memory.scopes import access_to
from alma.protocols import ListsProjects, Place
from alma.retrieval.fusion import LEAST_SHARE
from alma.retrieval.ranking import Contender, Ranked
from alma.types.explanation import FACTOR_LABELS, Explanation, Floor, Reason, RetrievalExplanation
from alma.types.memories import AnyMemory, Outcome
from alma.types.partition import Partition, agent_in, user_in
from alma.types.scope import Access
from alma.types.tags import not_an_id

_BOUNDLESS = 2**31
_NO_READER = "unknown"


def explain_retrieval(room: Room, request: RetrieveRequest, *, memory_id: object) -> RetrievalExplanation:
    """Returns what `retrieve` with the same request does with one memory, and why. Without an agent, the reader is the memory's own owner."""
    wanted = args.checked_text(memory_id, "memory_id", limit=args.LONGEST_NAME)
    place = room.project.find([wanted]).get(wanted)
    rule = None if place is not None else find_rules(room, [wanted], with_archived=True).get(wanted)
    is_known = place is not None or rule is not None
    is_owners_view = request.agent is None and is_known
    if request.agent is None:
        reader, user = _owner(room, place, rule, request.user_id)
        question = asked(room, replace(request, agent=reader, user_id=user))
    else:
        question = asked(room, request)
    named_reader = None if request.agent is None and not is_known else question.reader
    explainer = _Explainer(question, wanted, named_reader, is_owners_view=is_owners_view)
    if place is None:
        return _absent(room, explainer) if rule is None else _rule(room, question, rule, explainer)
    access = access_to(
        room, place.partition, agent=question.reader, user_id=question.user, include_shared=question.include_shared
    )
    if not access.is_open:
        return explainer.left_out(
            Reason.SCOPE, _closed(access, place.partition.agent or place.partition.owner, question.reader), access=access
        )
    if place.is_archived:
        doubt = reason_of(room, explainer.memory_id)
        gone = f"it is in quarantine: it {doubt}" if doubt else FORGOTTEN
        return explainer.left_out(Reason.ARCHIVED, gone, access=access)
    if question.times is not None and (why := question.times.why_not(_memory(room, place.memory))):
        return explainer.left_out(Reason.OUTSIDE_TIMES, why, access=access)
    answer = answered(room, question)
    assert answer is not None
    if place.memory in answer.caution.hidden:
        return explainer.left_out(Reason.OVERRULED, answer.caution.hidden[place.memory], access=access)
    return _judged(room, question, answer, place.memory, explainer)


FORGOTTEN = "it was forgotten: it is archived, and no search looks at it"


def _rule(room: Room, asked: Asked, rule: Rule, explainer: "_Explainer") -> RetrievalExplanation:
    """What becomes of a learned rule: it is shown with the table of the tasks that its outcomes are about."""
    of = Partition(0, is_user=False, owner=rule.record.owner, kind=KIND_OF_SIDE[rule.record.side].value)
    access = access_to(room, of, agent=asked.reader, user_id=asked.user, include_shared=asked.include_shared)
    if not access.is_open:
        return explainer.left_out(Reason.SCOPE, _closed(access, of.agent or of.owner, asked.reader), access=access)
    if rule.is_archived:
        return explainer.left_out(Reason.ARCHIVED, FORGOTTEN)
    answer = answered(room, asked)
    items = () if answer is None else answer.learned.items
    found = next((item for item in items if item.memory.id == rule.id), None)
    if found is None:
        why = "the outcomes behind it are on other tasks than this one, or do not amount to a rule there"
        return explainer.left_out(Reason.OVERRULED, why)
    return explainer.selected_rule(found)


def _owner(room: Room, place: Place | None, rule: Rule | None, user_id: object) -> tuple[str, object]:
    """The reader if none is named: the owner of the memory or rule; for a preference, the agent that stored it, for its user."""
    if rule is not None:
        return agent_in(rule.record.owner), user_in(rule.record.owner) if user_id is None else user_id
    if place is None:
        return _NO_READER, user_id
    partition = place.partition
    user = partition.user_id if user_id is None else user_id
    return partition.agent or _memory(room, place.memory).agent or partition.owner, user


def _memory(room: Room, row: int) -> AnyMemory:
    memory = room.project.memories([row]).get(row)
    if memory is None:
        raise MemoryNotFoundError(f"a memory of project {room.name!r} was purged while it was asked for; ask again")
    return memory


@dataclass(frozen=True, slots=True)
class _Explainer:
    """Makes the explanation of one memory for one question."""

    asked: Asked
    memory_id: str
    reader: str | None
    is_owners_view: bool

    def selected(self, explanation: Explanation) -> RetrievalExplanation:
        factors = f"Selected because: {_factors(explanation)}; score {explanation.score:.3f}, rank {explanation.rank}"
        details = [f"words matched: {', '.join(explanation.words)}"] if explanation.words else []
        text = "; ".join([factors, *details, explanation.access.described])
        return self._made(Reason.SELECTED, text, access=explanation.access, explanation=explanation)

    def selected_rule(self, item: LearnedItem) -> RetrievalExplanation:
        parts = ", ".join(f"{label}={item.factors[name]:.2f}" for name, label in FACTOR_LABELS.items())
        useful = "" if item.usefulness == 1.0 else f", usefulness={item.usefulness:.2f}"
        text = f"Selected because: {parts}{useful}; score {item.score:.3f}; {item.memory.described(None)}"
        return self._made(Reason.SELECTED, text)

    def left_out(self, reason: Reason, why: str, **more: Any) -> RetrievalExplanation:
        return self._made(reason, f"Not selected because: {why}", **more)

    def _made(self, reason: Reason, text: str, **more: Any) -> RetrievalExplanation:
        asked = self.asked
        view = f" (asked as its owner {self.reader!r}, since no agent was named)" if self.is_owners_view else ""
        return RetrievalExplanation(
            query=asked.task,
            memory_id=self.memory_id,
            agent=self.reader,
            user_id=asked.user,
            top_k=asked.top_k,
            is_owners_view=self.is_owners_view,
            reason=reason,
            text=text + view,
            **more,
        )


def _factors(explanation: Explanation) -> str:
    parts = [f"{label}={explanation.factors[name].value:.2f}" for name, label in FACTOR_LABELS.items()]
    if explanation.usefulness != 1.0:
        parts.append(f"usefulness={explanation.usefulness:.2f}")
    return ", ".join(parts)


def _absent(room: Room, explainer: _Explainer) -> RetrievalExplanation:
    storage = room.store.storage
    others = [name for name in storage.project_names() if name != room.name] if isinstance(storage, ListsProjects) else []
    if any(storage.project(name).find([explainer.memory_id]) for name in others):
        return explainer.left_out(Reason.OTHER_PROJECT, "it belongs to another project of this store, and a project is a wall")
    wanted = explainer.memory_id
    return explainer.left_out(Reason.UNKNOWN, f"no memory of project {room.name!r} has the id {wanted!r}{not_an_id(wanted)}")


def _closed(access: Access, owner: str, reader: str) -> str:
    if access is Access.NOT_SHARED:
        return (
            f"{owner!r}, who owns it, shares nothing with {reader!r}, and {reader!r} does not inherit from {owner!r}; "
            f"share_with of {owner!r} or inherit_from of {reader!r} would let it in"
        )
    if access is Access.LEFT_OUT:
        return (
            f"{owner!r}, who owns it, has a share_with that leaves {reader!r} out; only naming {reader!r} there would let it in"
        )
    return access.described


def _judged(room: Room, asked: Asked, answer: Answer, memory: int, explainer: _Explainer) -> RetrievalExplanation:
    if any(item.memory == memory for item in answer.order):
        return explainer.selected(explanations(room, asked, answer)[memory])
    if asked.verified and memory in answer.disputed.dispreferred:
        why, by = answer.disputed.dispreferred[memory]
        return explainer.left_out(
            Reason.CONTRADICTED, f"{by} contradicts it and is {why}; verified=False would return it", stands_for_it=by
        )
    if memory in answer.folded:
        standing = answer.memories[answer.folded[memory]]
        says = "is of the same attempt" if isinstance(standing, Outcome) else "says the same of the same tasks"
        why = f"it {says} as {standing.id}, which stands for it"
        return explainer.left_out(Reason.FOLDED, why, stands_for_it=standing.id)
    evidence = _evidence(room, answer, memory)
    item = _scored(room, asked, answer, evidence, memory)
    if item is None:
        return explainer.left_out(Reason.ARCHIVED, "it was forgotten just now")
    explanation = explained(room, asked, answer, evidence, item, words_in(room, answer, [memory])[memory])
    numbers = {"explanation": explanation, "access": explanation.access}
    if not evidence.is_relevant[place_in(evidence.memories, memory)]:
        floor = Floor(cosine=least_cosine(room, explanation.arms), share=LEAST_SHARE)
        return explainer.left_out(Reason.BELOW_FLOOR, _beside_the_point(explanation, floor), floor=floor, **numbers)
    equal = equal_ones(room, answer, memory)
    if equal and equal[0] != memory:
        other = _memory(room, equal[0]).id
        why = f"it says the same as {other}, which stands for all {len(equal)} memories of that content"
        return explainer.left_out(Reason.FOLDED, why, stands_for_it=other, **numbers)
    needed = _top_k_that_returns(room, asked, memory)
    if not equal:
        reason, why = Reason.NOT_A_CANDIDATE, _not_found(explanation)
    elif all(contender.memory != memory for contender in answer.contenders):
        reason, why = Reason.NOT_A_CONTENDER, _not_scored(explanation, asked)
    else:
        reason, why = Reason.BELOW_LAST, f"its score {explanation.score:.4f} ({_factors(explanation)}) is too low"
    last = [other.score for other in answer.order if other.kind == item.kind][-1:]
    rest = f"; the last {item.kind} returned has {last[0]:.4f}" if last else ""
    remedy = f"; top_k={needed} would return it" if needed else ""
    return explainer.left_out(reason, f"{why}{rest}{remedy}", score_needed=next(iter(last), None), top_k_needed=needed, **numbers)


def _beside_the_point(explanation: Explanation, floor: Floor) -> str:
    below = {
        DENSE: f"its cosine {explanation.cosine:.3f} is below {floor.cosine:.2f}",
        TEXT: f"its share of matching words {explanation.share:.3f} is below {LEAST_SHARE:.2f}",
    }
    return f"it is not about the query: {', and '.join(below[arm] for arm in explanation.arms)}"


def _not_found(explanation: Explanation) -> str:
    return (
        f"neither search of this large scope brought it up: too many others are nearer in meaning than its cosine {explanation.cosine:.3f} "
        f"and have more of the words than its share {explanation.share:.3f}; its score would be {explanation.score:.4f}"
    )


def _not_scored(explanation: Explanation, asked: Asked) -> str:
    return (
        f"its similarity {explanation.similarity:.4f} is not among the {contenders_for(asked.top_k)} greatest of its kind, which alone are "
        f"scored; its score would be {explanation.score:.4f}"
    )


def _evidence(room: Room, answer: Answer, memory: int) -> Evidence:
    """The evidence of the answer; searched again where the memory is not part of it."""
    if place_in(answer.found.evidence.memories, memory) is not None:
        return answer.found.evidence
    index = room.index.current(answer.scope.rows)
    return search_named(room, index, answer.question, answer.scope, also=np.array([memory])).evidence


def _scored(room: Room, asked: Asked, answer: Answer, evidence: Evidence, memory: int) -> Ranked | None:
    at = place_in(evidence.memories, memory)
    if at is None:
        return None
    alone = Contender(memory, float(evidence.similarities[at]), 1)
    return next(iter(scored(asked, [alone], candidates_of(room, asked, [alone]), answer.caution, top_k=1)), None)


def _top_k_that_returns(room: Room, asked: Asked, memory: int) -> int | None:
    """A `top_k` greater than the one given that returns a memory, tried out; `None` if the largest does not."""
    wider = _answer(room, asked, args.LARGEST_TOP_K)
    if all(item.memory != memory for item in wider.order):
        return None
    top_k = _least_top_k(room, asked, wider, memory)
    while top_k < args.LARGEST_TOP_K and all(item.memory != memory for item in _answer(room, asked, top_k).order):
        top_k = min(2 * top_k, args.LARGEST_TOP_K)
    return top_k


def _answer(room: Room, asked: Asked, top_k: int) -> Answer:
    answer = answered(room, replace(asked, top_k=top_k))
    assert answer is not None
    return answer


def _least_top_k(room: Room, asked: Asked, wider: Answer, memory: int) -> int:
    """The least `top_k` for which a memory is among the contenders of its kind and among the best of them, were those all there are."""
    ranking = scored(asked, wider.contenders, candidates_of(room, asked, wider.contenders), wider.caution, top_k=_BOUNDLESS)
    kind = next(item.kind for item in ranking if item.memory == memory)
    order = {item.memory: place for place, item in enumerate(ranking) if item.kind == kind}
    by_similarity = [contender.memory for contender in wider.contenders if contender.memory in order]
    first = {other: place for place, other in enumerate(by_similarity)}
    ahead = np.sort([place for other, place in first.items() if order[other] < order[memory]])
    fits = (
        top_k
        for top_k in range(asked.top_k + 1, args.LARGEST_TOP_K)
        if contenders_for(top_k) > first[memory] and ahead.searchsorted(contenders_for(top_k)) < top_k
    )
    return next(fits, args.LARGEST_TOP_K)
