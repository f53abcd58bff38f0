"""`import alma` is light, and what it promises is there."""

import subprocess
import sys
from pathlib import Path

import pytest

import alma

HEAVY = ("pydantic", "numpy", "sqlmodel", "sqlalchemy", "faiss", "onnxruntime", "tokenizers", "yaml", "sqlite3")


def _printed(code: str) -> list[str]:
    """What a fresh interpreter prints for the code."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def test_importing_alma_loads_nothing_heavy() -> None:
    assert _printed(f"import sys, alma; print(*[name for name in {HEAVY!r} if name in sys.modules])") == []


def test_looking_at_the_names_of_alma_loads_nothing_heavy() -> None:
    code = f"import sys, alma; dir(alma); alma.__all__; alma.__version__; print(*[n for n in {HEAVY!r} if n in sys.modules])"
    assert _printed(code) == []


@pytest.mark.slow
def test_the_heavy_packages_are_loaded_once_alma_is_used() -> None:
    assert "pydantic" in _printed(f"import sys; from alma import ALMA; print(*[n for n in {HEAVY!r} if n in sys.modules])")


@pytest.mark.slow
def test_all_names_of_alma_are_its_own_and_no_other_public_name_is() -> None:
    code = (
        "import alma, types\n"
        "values = {name: getattr(alma, name) for name in alma.__all__}\n"
        "own = {n for n, v in vars(alma).items() if not n.startswith('_') and not isinstance(v, types.ModuleType)\n"
        "       and getattr(v, '__module__', '').startswith('alma')}\n"
        "print(*sorted(own))"
    )
    assert _printed(code) == sorted(alma.__all__)


@pytest.mark.parametrize("name", alma.__all__)
def test_every_listed_name_can_be_imported_and_bears_its_name(name: str) -> None:
    assert getattr(alma, name).__name__ == name
    assert name in dir(alma)


def test_the_listed_names_are_distinct_and_ordered() -> None:
    assert alma.__all__ == sorted(set(alma.__all__))


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        alma.Nothing  # noqa: B018 - the access is the act
    assert not hasattr(alma, "create_everything")


def test_the_types_that_users_import_are_in_alma_types() -> None:
    from alma.types import FeedbackSignal, MemoryScope, MemorySlice, MemoryType

    assert (FeedbackSignal, MemoryScope, MemorySlice, MemoryType) == (
        alma.FeedbackSignal,
        alma.MemoryScope,
        alma.MemorySlice,
        alma.MemoryType,
    )


@pytest.mark.slow
def test_a_store_is_opened_and_used_without_sqlalchemy(tmp_path: Path) -> None:
    code = (
        "import sys; from alma import ALMA\n"
        f"alma = ALMA.open({str(tmp_path)!r}, project_id='p', embedding_provider='hash')\n"
        "alma.learn('dev', 'Deploy', True, 'canary'); alma.retrieve('Deploy', 'dev')\n"
        "alma.stats(); alma.list_memories(); alma.forget('dev', memory_ids=[alma.list_memories()[0].id], purge=True)\n"
        "print(*[name for name in ('sqlmodel', 'sqlalchemy', 'cryptography') if name in sys.modules])"
    )
    assert _printed(code) == []
