"""Ids and times."""

import uuid
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from alma.types.identity import EPOCH, as_utc, from_micros, new_id, to_micros

_offsets = st.integers(-23 * 3600, 23 * 3600).map(lambda seconds: timezone(timedelta(seconds=seconds)))
_moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=_offsets)  # noqa: DTZ001 - the bounds are naive by contract
_recent = st.datetimes(datetime(1970, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(_moments)
def test_a_time_survives_microseconds_exactly(moment: datetime) -> None:
    back = from_micros(to_micros(moment))

    assert back == moment
    assert back.tzinfo is UTC


@given(st.integers(-(10**16), 10**17))
def test_microseconds_survive_a_time_exactly(micros: int) -> None:
    assert to_micros(from_micros(micros)) == micros


@given(st.datetimes())
def test_a_naive_time_is_taken_as_utc(moment: datetime) -> None:
    assert as_utc(moment) == moment.replace(tzinfo=UTC)


@given(_moments)
def test_an_aware_time_stays_the_same_moment(moment: datetime) -> None:
    assert as_utc(moment) == moment
    assert as_utc(moment).tzinfo is UTC


@given(_recent)
def test_an_id_is_a_uuid_of_version_7_with_the_millisecond_it_was_made_in(moment: datetime) -> None:
    made = uuid.UUID(new_id(moment))

    assert str(made) == new_id(moment)[:13] + str(made)[13:]
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == (moment - EPOCH) // timedelta(milliseconds=1)


@given(_recent, _recent)
def test_ids_of_different_milliseconds_sort_by_time(one: datetime, other: datetime) -> None:
    millis = [to_micros(moment) // 1000 for moment in (one, other)]

    assert millis[0] == millis[1] or (new_id(one) < new_id(other)) == (millis[0] < millis[1])


def test_ids_of_one_moment_differ() -> None:
    assert len({new_id(EPOCH) for _ in range(5000)}) == 5000


def test_the_74_free_bits_of_ids_all_vary() -> None:
    ids = [uuid.UUID(new_id(EPOCH)).int for _ in range(200)]
    ones, zeros = 0, 0
    for value in ids:
        ones |= value
        zeros |= ~value
    free = (1 << 76) - (1 << 64) | (1 << 62) - 1

    assert ones & zeros & ((1 << 128) - 1) == free
