"""What a journal record is: its payload, its digest, its place in the chain."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.journal import (
    GENESIS,
    BrokenChainError,
    Change,
    JournalRecord,
    decode_payload,
    encode_payload,
    follow,
    payload_digest,
    record_hash,
)

SALT = bytes(range(16))

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_rows = st.none() | st.dictionaries(_texts, _values, max_size=4)
_changes = st.lists(st.builds(Change, _texts, _texts, _rows, _rows), max_size=5)


@pytest.mark.slow
@given(_changes)
def test_a_payload_gives_back_the_changes_it_was_made_of(changes: list[Change]) -> None:
    assert decode_payload(encode_payload(changes)) == changes


@pytest.mark.slow
@given(_changes)
def test_encoding_what_was_decoded_gives_the_same_bytes(changes: list[Change]) -> None:
    payload = encode_payload(changes)

    assert encode_payload(decode_payload(payload)) == payload


@pytest.mark.slow
@given(st.dictionaries(_texts, _values, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_in_which_columns_were_given_does_not_show(row: dict[str, object], chance: object) -> None:
    shuffled = list(row.items())
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    assert encode_payload([Change("t", "k", None, dict(shuffled))]) == encode_payload([Change("t", "k", None, row)])


def test_a_payload_is_compact_sorted_json_in_utf_8() -> None:
    changes = [Change("memory", "m1", None, {"b": 0.1, "a": "é"}), Change("memory", "m0", {"x": None}, {"x": True})]

    assert encode_payload(changes) == '[["memory","m1",null,{"a":"é","b":0.1}],["memory","m0",{"x":null},{"x":true}]]'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), "\ud800"])
def test_what_json_in_utf_8_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"JSON|surrogate"):
        encode_payload([Change("t", "k", None, {"column": value})])


def chain(length: int, *, project: str = "shop") -> list[JournalRecord]:
    """The first records of a project."""
    records: list[JournalRecord] = []
    for seq in range(1, length + 1):
        payload = encode_payload([Change("memory", f"m{seq}", None, {"body": f"text {seq}"})])
        header = {"project": project, "seq": seq, "at": 1_000_000 + seq, "actor": "helena", "operation": "learn"}
        digest = payload_digest(SALT, payload)
        head = record_hash(records[-1].hash if records else GENESIS, digest=digest, **header)  # type: ignore[arg-type]
        records.append(JournalRecord(payload=payload, salt=SALT, digest=digest, hash=head, **header))  # type: ignore[arg-type]
    return records


def follow_all(records: Sequence[JournalRecord]) -> None:
    previous = GENESIS
    for seq, record in enumerate(records, 1):
        follow(record, previous=previous, seq=seq)
        previous = record.hash


def test_records_that_follow_each_other_are_a_chain() -> None:
    follow_all(chain(5))


def test_the_hash_is_the_one_that_the_design_writes_down() -> None:
    record = chain(1)[0]
    header = json.dumps(["shop", 1, 1_000_001, "helena", "learn"], separators=(",", ":")).encode()
    digest = hashlib.sha256(SALT + record.payload).digest()  # type: ignore[operator]

    assert record.digest == digest
    assert record.hash == hashlib.sha256(bytes(32) + header + digest).digest()


@pytest.mark.parametrize(
    ("altered", "fault"),
    [
        ({"project": "lab"}, "record 2 does not follow"),
        ({"at": 1}, "record 2 does not follow"),
        ({"actor": "victor"}, "record 2 does not follow"),
        ({"operation": "forget"}, "record 2 does not follow"),
        ({"hash": bytes(32)}, "record 2 does not follow"),
        ({"payload": b"[]"}, "the payload of record 2 was changed"),
        ({"salt": bytes(16)}, "the payload of record 2 was changed"),
        ({"salt": None}, "the payload of record 2 was changed"),
        ({"digest": bytes(32)}, "the payload of record 2 was changed"),
        ({"payload": None, "salt": None, "digest": bytes(32)}, "record 2 does not follow"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_an_altered_record_is_named_with_its_fault(altered: dict[str, object], fault: str) -> None:
    records = chain(3)
    records[1] = replace(records[1], **altered)  # type: ignore[arg-type]

    with pytest.raises(BrokenChainError, match=fault):
        follow_all(records)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_record_is_named(lost: int) -> None:
    records = chain(4)
    del records[lost]

    with pytest.raises(BrokenChainError, match=f"record {lost + 1} is missing; the next one is {lost + 2}"):
        follow_all(records)


def test_two_records_that_changed_places_do_not_follow() -> None:
    first, second, third, fourth = chain(4)

    with pytest.raises(BrokenChainError, match="record 2 is missing; the next one is 3"):
        follow_all([first, third, second, fourth])


def test_two_records_that_took_each_others_number_do_not_follow() -> None:
    first, second, third, fourth = chain(4)

    with pytest.raises(BrokenChainError, match="record 2 does not follow"):
        follow_all([first, replace(third, seq=2), replace(second, seq=3), fourth])


def test_a_purged_record_still_stands_in_the_chain() -> None:
    records = chain(3)
    records[1] = replace(records[1], payload=None, salt=None)

    follow_all(records)


def test_the_digest_of_a_purged_payload_depends_on_the_salt_that_is_gone() -> None:
    assert payload_digest(SALT, b"[]") != payload_digest(bytes(16), b"[]")
