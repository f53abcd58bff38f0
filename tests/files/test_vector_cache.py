"""The cache of a file store's vectors is read once: later, only what was added, unless another file took its place."""

from pathlib import Path

import pytest

from alma_files.vector_cache import VectorCache

ONE, TWO, THREE = ({bytes([number]) * 16: bytes([number]) * 8} for number in (1, 2, 3))


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    made = VectorCache(tmp_path, "an embedder", 4)
    made.add({**ONE, **TWO})
    return made


def test_what_was_read_is_not_read_again(cache: VectorCache) -> None:
    found, known = cache.read()
    assert found == {**ONE, **TWO}
    cache.add(THREE)
    found, known = cache.read(known)
    assert found == THREE
    assert cache.read(known) == ({}, known)


def test_a_torn_end_is_read_once_it_is_whole(cache: VectorCache) -> None:
    _, known = cache.read()
    whole = cache.path.read_bytes()
    cache.path.write_bytes(whole + whole[:10])
    assert cache.read(known) == ({}, known)
    cache.add(THREE)  # which cuts off what is torn
    assert cache.read(known)[0] == THREE


def test_a_file_in_its_place_is_read_whole(cache: VectorCache) -> None:
    _, known = cache.read()
    cache.replace({**TWO, **THREE})
    assert cache.read(known)[0] == {**TWO, **THREE}
    cache.path.unlink()
    assert cache.read(known)[0] == {}


def test_a_damaged_vector_reads_as_missing(cache: VectorCache) -> None:
    data = bytearray(cache.path.read_bytes())
    data[20] ^= 1
    cache.path.write_bytes(bytes(data))
    assert cache.read()[0] == TWO
