"""The configuration chooses the store by its name, and other packages add names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import ConfigurationError
from alma.protocols import Store, StoreRequest
from alma.storage.factories import storage_names
from alma.testing import MockStorage

REQUESTS: list[StoreRequest] = []


def open_theirs(request: StoreRequest) -> Store:
    """The factory of another package."""
    REQUESTS.append(request)
    return MockStorage(request.fingerprint(), folder=Path(request.folder))


@pytest.fixture
def offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Installs a package that offers a store."""

    def install(name: str, where: str) -> None:
        info = tmp_path / "site" / "third_party-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[alma.storage]\n{name} = {where}\n")
        monkeypatch.syspath_prepend(str(info.parent))

    return install


@pytest.fixture
def configured(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a configuration with these lines."""

    def write(lines: str) -> Path:
        path = tmp_path / "config.yaml"
        path.write_text(f"project_id: shop\nembedding_provider: hash\nstorage_dir: {tmp_path / 'memory'}\n{lines}\n")
        return path

    return write


def test_a_store_of_another_package_is_opened_with_its_own_settings(
    offers: Callable[[str, str], None], configured: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir()
    offers("postgres", f"{__name__}:open_theirs")
    with ALMA.from_config(configured("storage: postgres\npostgres: {host: db.local}\nlock_timeout: 3")) as alma:
        alma.learn("helena", "Test the login form", "success")
        assert len(alma.retrieve("Test the login form", "helena").outcomes) == 1
    request = REQUESTS[-1]
    assert (request.folder, request.lock_timeout) == (str(tmp_path / "memory"), 3.0)
    assert request.options["host"] == "db.local"
    assert storage_names() == ["sqlite", "file", "postgres"]


def test_a_store_that_cannot_be_loaded_says_whose_it_is(
    offers: Callable[[str, str], None], configured: Callable[[str], Path]
) -> None:
    offers("theirs", "no_such_module:open_it")
    with pytest.raises(ConfigurationError, match=r"storage: 'theirs' \(no_such_module:open_it\) could not be loaded"):
        ALMA.from_config(configured("storage: theirs"))


def test_nobody_takes_the_place_of_sqlite(
    offers: Callable[[str, str], None], configured: Callable[[str], Path], tmp_path: Path
) -> None:
    offers("sqlite", "no_such_module:open_it")
    ALMA.from_config(configured("storage: sqlite")).close()
    assert (tmp_path / "memory" / "alma.db").exists()
    assert storage_names() == ["sqlite", "file"]
