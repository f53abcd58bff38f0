"""The contents of a vector index: passages, and their vectors by partition."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alma.protocols import VectorChanges
from alma.vectors.blocks import Coded, Exact, Halves, Method
from alma.vectors.changes import without_repeats
from alma.vectors.codes import Codes
from alma.vectors.columns import Column
from alma.vectors.copies import KeyLookup, content_keys, repeated_in_memory
from alma.vectors.groups import Selection, groups
from alma.vectors.partition import Partition
from alma.vectors.sample import Held
from alma.vectors.saved import FetchPassages, SavedPartition
from alma.vectors.scopes import Scope
from alma.vectors.table import PassageTable, ascending

if TYPE_CHECKING:
    from alma.vectors.fetched import FetchedBlock

Integers = NDArray[np.int64]

COMPACT_ABOVE = 1024
SCOPES_KEPT = 64

SHARED = -1
"""Number of the partition that holds the vectors of all slots on the shared shelf. Other partitions have the number of their slot."""

_NO_ROWS: Integers = np.empty(0, dtype=np.int64)


class Contents:
    """Passages in a table, and their vectors in partitions, which are numbered by slots from 0. Not thread-safe.

    A partition of more than `shared_up_to` live passages has vectors of its own: a numpy matrix, or a flat float16 FAISS index if there
    are more than `faiss_above` in all partitions, which has codes if it holds more than `codes_above`. All others share a matrix. Copies
    are passages of one partition with one tie and one vector; they share that vector. `moves` grows whenever rows get new numbers or the
    vectors another method.
    """

    def __init__(self, dimension: int, *, faiss_above: int, shared_up_to: int, codes_above: int) -> None:
        self._dimension, self._codes_above = dimension, codes_above
        self._faiss_above, self._shared_up_to = faiss_above, min(shared_up_to, faiss_above)
        self._method: Method = Exact()
        self.table = PassageTable()
        self.partitions = {SHARED: Partition(self._method, dimension)}
        self.numbers = Column(np.int64)
        self.memory_counts = Column(np.int64)
        self.moves = 0
        self._passage_counts = Column(np.int64)
        self._homes = Column(np.int64)
        self._slot_of: dict[int, int] = {}
        self._originals = KeyLookup()
        self._perhaps_unfinished: set[int] = set()
        self._restored: dict[int, FetchedBlock] = {}
        self._scopes: dict[tuple[int, ...], Scope] = {}

    def take(self, changes: VectorChanges) -> tuple[Held, Held]:
        """Applies changes. Returns the memories concerned that had a live passage before, and those that have one now."""
        added = without_repeats(changes)
        is_news = not len(changes.removed) and self.table.are_newer(added.passages, added.memories)
        gone, held = self._added(added) if is_news else self._replaced(added, changes.removed)
        self._recount(gone, held)
        touched = ascending(np.concatenate([gone.slots, held.slots])).tolist()
        self._perhaps_unfinished.update(slot for slot in touched if slot in self.partitions)
        if self.table.dead_count > max(COMPACT_ABOVE, len(self.table) // 4):
            self.drop_removed()
        return gone, held

    def compact(self) -> None:
        """Releases the memory of removed passages."""
        self.drop_removed()
        for partition in self.partitions.values():
            partition.shelf.block.compact()

    def live(self) -> tuple[Integers, Iterator[Halves]]:
        """Returns the rows of all live passages, partition by partition, and their vectors block by block. A block without copies is not
        copied."""
        shelves = [partition.shelf for partition in self.partitions.values()]
        rows = np.concatenate([_NO_ROWS, *(shelf.all_rows() for shelf in shelves)])
        return rows, (shelf.all_vectors(self.table).astype(np.float16, copy=False) for shelf in shelves)

    def large(self) -> list[int]:
        """Returns the partitions that have codes, or will have."""
        sizes = {slot: len(partition.shelf) for slot, partition in self.partitions.items() if slot != SHARED}
        return [int(self.numbers.values[slot]) for slot, size in sizes.items() if size > self._codes_above]

    def saved(self, number: int) -> SavedPartition | None:
        """Returns a large partition as a snapshot holds it, making the codes that are left; `None` if it can have none."""
        shelf, table = self.partitions[self._slot_of[number]].shelf, self.table
        codes = shelf.block.packed_codes() if isinstance(shelf.block, Coded) else None
        if codes is None:
            return None
        rows = shelf.all_rows()
        rows = rows[np.argsort(table.passage.values[rows], kind="stable")]
        places = np.full(len(table), -1, dtype=np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        keys, originals = self._originals.entries()
        is_inside = places[originals] >= 0
        return SavedPartition(
            passages=table.passage.values[rows],
            memories=table.memory.values[rows],
            ties=table.tie.values[rows],
            is_own=table.is_own.values[rows],
            positions=table.position.values[rows],
            keys=keys[is_inside],
            key_places=places[originals[is_inside]],
            codes=codes,
        )

    def restore(self, number: int, saved: SavedPartition, fetch: FetchPassages) -> bool:
        """Takes in a partition that it left out so far, and returns True; False if a project of this size needs no codes, or if these are of
        another number of vectors."""
        count = len(saved.passages)
        if self.table.live_count + count <= self._faiss_above:
            return False
        from alma.vectors.fetched import FetchedBlock
        from alma.vectors.flat_faiss import FlatFaiss

        codes = Codes.unpacked(FlatFaiss().faiss, self._dimension, saved.codes, saved.vectors)
        if codes is None:
            return False
        self._choose(self.table.live_count + count)
        method, table = self._method, self.table
        assert isinstance(method, FlatFaiss)
        partition = Partition(method, self._dimension)
        shelf = partition.shelf

        def fetched(positions: Integers) -> tuple[Integers, Halves]:
            passages = table.passage.values[shelf.rows.values[positions]]
            found, vectors = fetch(passages)
            order = np.argsort(passages)
            return order[passages.searchsorted(found, sorter=order)], vectors

        block = FetchedBlock(method, self._dimension, codes, fetched)
        shelf.block = block
        slots = np.repeat(self._slots(np.array([number])), count)
        slot = int(slots[0])
        rows = table.append(passages=saved.passages, memories=saved.memories, ties=saved.ties, is_own=saved.is_own, slots=slots)
        shelf.restore(rows, saved.positions, table)
        self.partitions[slot], self._homes.values[slot], self._restored[slot] = partition, slot, block
        self._passage_counts.values[slot] += count
        self._originals.add(saved.keys, rows[saved.key_places])
        self._recount(Held.nothing(), Held.of(slots, saved.memories, saved.ties))
        self._perhaps_unfinished.add(slot)
        self._scopes = {}
        self.moves += 1
        return True

    def scope(self, partitions: Sequence[int]) -> Scope:
        """Returns the known partitions as a search needs them. Cached by the partitions asked for."""
        key = tuple(partitions)
        scope = self._scopes.get(key)
        if scope is None:
            slots = [self._slot_of[number] for number in dict.fromkeys(key) if number in self._slot_of]
            scope = Scope.of(np.array(slots, dtype=np.int64), self._homes.values != SHARED)
            if len(self._scopes) >= SCOPES_KEPT:
                self._scopes = {}
            self._scopes[key] = scope
        return scope

    def shared(self, scope: Scope) -> Integers:
        """Returns the positions on the shared shelf that belong to a scope."""
        if scope.is_shared is None:
            return _NO_ROWS
        return np.flatnonzero(scope.is_shared[self.table.slot.values[self.partitions[SHARED].shelf.rows.values]])

    def smallest(self, scope: Scope, count: int) -> tuple[Integers, Integers]:
        """Returns memories of a scope and their ties, among them the `count` with the smallest ties."""
        table, shelf = self.table, self.partitions[SHARED].shelf
        near = [self.partitions[slot].smallest_ties(count, table) for slot in scope.own]
        memories, first = np.unique(table.memory.values[rows := shelf.with_copies(self.shared(scope))], return_index=True)
        return (
            np.concatenate([memories, *(each.memories[:count] for each in near)]),
            np.concatenate([table.tie.values[rows[first]], *(each.ties[:count] for each in near)]),
        )

    def by_partition(self, rows: Integers) -> Iterator[tuple[int, Selection]]:
        """Groups the rows by the partition that holds their vectors. Yields its number, ascending, and the places of its rows."""
        return groups(self._homes.values[self.table.slot.values[rows]])

    def positions(self, rows: Integers) -> Integers:
        """Returns the positions of the rows' vectors on their shelves."""
        return self.table.position.values[rows].astype(np.int64)

    def first_rows(self, memories: Integers) -> Integers:
        """Returns one row for each of the memories that has a live passage, ascending by memory."""
        rows = self.table.of_memories(memories)
        _, first = np.unique(self.table.memory.values[rows], return_index=True)
        return rows[first]

    def unfinished(self) -> Coded | None:
        """Returns a block whose codes have to be made, or whose vectors read, if there is one."""
        while self._perhaps_unfinished and not isinstance(self._method, Exact):
            slot = next(iter(self._perhaps_unfinished))
            block = self.partitions[slot].shelf.block
            if isinstance(block, Coded) and block.is_unfinished:
                return block
            self._perhaps_unfinished.discard(slot)
        return None

    def coded(self) -> Iterator[Coded]:
        """Yields the blocks that may have codes."""
        blocks = (partition.shelf.block for partition in self.partitions.values())
        yield from (block for block in blocks if isinstance(block, Coded))

    def drop_removed(self) -> None:
        """Drops the rows of removed passages and renumbers all others."""
        if not self.table.dead_count:
            return
        new_rows = self.table.compact()
        self.moves += 1
        self._originals.renumber(new_rows)
        for partition in self.partitions.values():
            partition.shelf.renumber(new_rows)

    def _added(self, added: VectorChanges) -> tuple[Held, Held]:
        """Adds passages of memories that are newer than all others. Returns the memories held before and now, as `take` does."""
        return Held.nothing(), Held.of(self._add(added), added.memories, added.ties)

    def _replaced(self, added: VectorChanges, removed: Integers) -> tuple[Held, Held]:
        """Replaces passages by others. Returns the memories held before and now, as `take` does."""
        leaving = self.table.of_passages(np.concatenate([removed, added.passages]))
        touched = np.concatenate([added.memories, self.table.memory.values[leaving]])
        before = self._held(touched)
        self._remove(leaving)
        self._add(added)
        return before, self._held(touched)

    def _remove(self, rows: Integers) -> None:
        """Removes passages. A copy that remains becomes the original of later copies."""
        table = self.table
        slots = table.slot.values[rows].astype(np.int64)
        self._passage_counts.values[:] -= np.bincount(slots, minlength=len(self._passage_counts))
        for number, chosen in self.by_partition(rows):
            shelf = self.partitions[number].shelf
            left = shelf.remove(rows[chosen], table)
            if (block := self._restored.get(number)) is shelf.block and block is not None:
                block.fetch_again(self.positions(left))
            vectors = shelf.block.at(self.positions(left)).astype(np.float16, copy=False)
            numbers = self.numbers.values[table.slot.values[left]]
            self._originals.add(content_keys(numbers, table.tie.values[left], vectors), left)
        table.mark_removed(rows)
        self._settle(slots)

    def _add(self, added: VectorChanges) -> Integers:
        """Adds passages and returns their slots. Copies join their originals; others go to the shelves of their slots."""
        slots = self._slots(added.partitions)
        rows = self.table.append(
            passages=added.passages, memories=added.memories, ties=added.ties, is_own=added.is_own, slots=slots
        )
        self._passage_counts.values[:] += np.bincount(slots, minlength=len(self._passage_counts))
        self._settle(slots)
        keys = content_keys(added.partitions, added.ties, added.vectors)
        originals = self._originals_of(rows, keys)
        is_new = originals == rows
        new, vectors = (rows, added.vectors) if is_new.all() else (rows[is_new], added.vectors[is_new])
        for number, chosen in self.by_partition(new):
            self.partitions[number].shelf.append(new[chosen], vectors[chosen], self.table)
        self._originals.add(keys[is_new], new)
        copies, copied = rows[~is_new], originals[~is_new]
        for number, chosen in self.by_partition(copies):
            self.partitions[number].shelf.join(copies[chosen], copied[chosen], self.table)
        return slots

    def _originals_of(self, rows: Integers, keys: Integers) -> Integers:
        """Returns for each new row the row that it is a copy of, or the row itself."""
        table = self.table
        distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        found = self._originals.find(distinct)[inverse]
        is_one = (found >= 0) & table.live.values[found]
        for column in (table.slot.values, table.tie.values):
            is_one &= column[found] == column[rows]
        is_one &= table.memory.values[found] != table.memory.values[rows]
        originals = np.where(is_one, found, rows)[first[inverse]]
        return (
            originals
            if len(distinct) == len(keys)
            else np.where(repeated_in_memory(keys, table.memory.values[rows]), rows, originals)
        )

    def _slots(self, partitions: Integers) -> Integers:
        """Returns the slots of partitions. A new partition gets the next slot and starts on the shared shelf."""
        distinct, inverse = np.unique(partitions, return_inverse=True)
        slots = [self._slot_of.setdefault(number, len(self._slot_of)) for number in distinct.tolist()]
        if more := len(self._slot_of) - len(self.numbers):
            self.numbers.append(np.array(list(self._slot_of)[-more:], dtype=np.int64))
            self._homes.append(np.full(more, SHARED))
            for counts in (self._passage_counts, self.memory_counts):
                counts.append(np.zeros(more, dtype=np.int64))
            self._scopes = {}
        return np.array(slots, dtype=np.int64)[inverse]

    def _settle(self, slots: Integers) -> None:
        """Gives slots that outgrew the shared shelf one of their own, and chooses the method for the number of passages."""
        self._choose(self.table.live_count)
        for slot in ascending(slots).tolist():
            if slot not in self.partitions and self._passage_counts.values[slot] > self._shared_up_to:
                self._move_out(slot)

    def _choose(self, count: int) -> None:
        """Chooses the method for `count` live passages."""
        if count > self._faiss_above and isinstance(self._method, Exact):
            from alma.vectors.flat_faiss import FlatFaiss

            self._switch(FlatFaiss(codes_above=self._codes_above))
        elif count <= self._faiss_above // 2 and not isinstance(self._method, Exact):
            self._switch(Exact())

    def _switch(self, method: Method) -> None:
        self._method = method
        self.moves += 1
        for number, partition in self.partitions.items():
            if number != SHARED:
                partition.switch(method, self._dimension)
                self._perhaps_unfinished.add(number)

    def _move_out(self, slot: int) -> None:
        """Moves the passages of a slot from the shared shelf to one of its own."""
        shared, own = self.partitions[SHARED].shelf, Partition(self._method, self._dimension)
        positions = np.flatnonzero(self.table.slot.values[shared.rows.values] == slot)
        newest, rows = shared.rows.values[positions], shared.with_copies(positions)
        vectors = shared.block.at(positions).astype(np.float16)
        originals = newest[positions.searchsorted(self.positions(rows))]
        shared.remove(rows, self.table)
        own.shelf.append(newest, vectors, self.table)
        is_copy = originals != rows
        own.shelf.join(rows[is_copy], originals[is_copy], self.table)
        self.partitions[slot], self._homes.values[slot] = own, slot
        self._scopes = {}
        self.moves += 1

    def _held(self, memories: Integers) -> Held:
        """Returns those of the memories that have a live passage."""
        rows = self.table.of_memories(memories)
        return Held.of(self.table.slot.values[rows].astype(np.int64), self.table.memory.values[rows], self.table.tie.values[rows])

    def _recount(self, gone: Held, held: Held) -> None:
        counts = self.memory_counts.values
        counts += np.bincount(held.slots, minlength=len(counts)) - np.bincount(gone.slots, minlength=len(counts))
        for slot in ascending(np.concatenate([gone.slots, held.slots])).tolist():
            if slot in self.partitions:
                stays = held.slots == slot
                self.partitions[slot].count_memories(
                    gone=gone.memories[gone.slots == slot], memories=held.memories[stays], ties=held.ties[stays]
                )
