"""Embedders by name."""

import subprocess
import sys
from pathlib import Path

import pytest

from alma.embedding import HashEmbedder, MiniLMEmbedder, create_embedder, embedder_for, embedder_names, minilm_is_installed
from alma.errors import ConfigurationError, EmbedderMismatchError

PLUGIN = """
from alma.embedding import HashEmbedder

def make(*, dimension):
    return HashEmbedder(dimension or 64)
"""


def run_python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def _plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with two embedders on the path: `letters`, and `broken`, whose module is not there."""
    (tmp_path / "letters_embedder.py").write_text(PLUGIN)
    information = tmp_path / "letters_embedder-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: letters-embedder\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[alma.embedders]\nletters = letters_embedder:make\nbroken = no_such_module:make\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("name", ["hash", "mock", "Hash", " mock "])
def test_hash_and_mock_are_the_hash_embedder(name: str) -> None:
    assert isinstance(create_embedder(name), HashEmbedder)


@pytest.mark.parametrize("name", ["minilm", "local", "auto"])
def test_minilm_local_and_auto_are_the_model_where_it_is_installed(name: str) -> None:
    assert minilm_is_installed()
    assert isinstance(create_embedder(name, dimension=384), MiniLMEmbedder)


def test_hash_takes_the_dimension_asked_for() -> None:
    assert create_embedder("hash", dimension=128).fingerprint.dimension == 128


def test_a_dimension_that_the_model_has_not_is_an_error_with_both_numbers() -> None:
    with pytest.raises(ConfigurationError, match=r"384 dimensions, but 768"):
        create_embedder("minilm", dimension=768)


@pytest.mark.parametrize(("name", "meant"), [("minilmm", "minilm"), ("hsah", "hash"), ("locale", "local")])
def test_an_unknown_name_is_an_error_with_the_nearest_spelling(name: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"no embedder '{name}', did you mean '{meant}'\?.*auto, azure, hash"):
        create_embedder(name)


@pytest.mark.parametrize("name", ["", "x" * 10_000, "../etc/passwd", "a\nb"])
def test_a_hostile_name_is_a_short_error(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        create_embedder(name)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("_plugin")
def test_an_embedder_of_another_package_is_found_by_its_entry_point() -> None:
    assert "letters" in embedder_names()
    assert create_embedder("letters").fingerprint.dimension == 64
    assert create_embedder("letters", dimension=32).fingerprint.dimension == 32


@pytest.mark.usefixtures("_plugin")
def test_a_package_whose_embedder_cannot_be_loaded_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"'broken' \(no_such_module:make\)"):
        create_embedder("broken")


@pytest.mark.parametrize("name", ["minilm", "hash"])
def test_a_recorded_fingerprint_gives_an_equal_embedder(name: str) -> None:
    fingerprint = create_embedder(name).fingerprint
    assert embedder_for(fingerprint).fingerprint == fingerprint


def test_a_recorded_dimension_is_taken_up() -> None:
    assert embedder_for(HashEmbedder(100).fingerprint).fingerprint.dimension == 100


@pytest.mark.parametrize("change", [{"revision": "0"}, {"precision": "float16"}, {"token_limit": 128}, {"preparation": "lower"}])
def test_vectors_of_another_make_are_an_error_that_names_the_command(change: dict[str, object]) -> None:
    with pytest.raises(EmbedderMismatchError, match="alma reindex"):
        embedder_for(HashEmbedder().fingerprint.model_copy(update=change))


def test_a_model_without_an_embedder_of_its_name_is_an_error_that_says_what_to_pass() -> None:
    with pytest.raises(
        ConfigurationError, match=r"made by 'gone', and no embedder has that name here: .*embedding_provider=.*alma reindex"
    ):
        embedder_for(HashEmbedder().fingerprint.model_copy(update={"model": "gone"}))


@pytest.mark.slow
def test_the_runtime_is_not_imported_before_the_model_is_made() -> None:
    program = """
import sys
from alma.embedding import create_embedder, minilm_is_installed
minilm_is_installed(); create_embedder("hash").embed(["a"])
print(sorted({"onnxruntime", "tokenizers", "alma_minilm"} & set(sys.modules)))
"""
    assert run_python(program) == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("package", ["alma_minilm", "onnxruntime", "tokenizers"])
def test_without_one_of_its_packages_the_model_names_the_extra_and_auto_is_hash(package: str) -> None:
    program = f"""
import sys
sys.modules[{package!r}] = None
from alma.embedding import create_embedder
from alma.errors import MissingDependencyError
assert create_embedder("auto").fingerprint.model == "hash"
try:
    create_embedder("minilm")
except MissingDependencyError as error:
    print(error)
"""
    message = run_python(program)
    assert package in message
    assert '"alma-core[local] @ git+URL' in message
