"""What a configuration file says becomes settings, or an error that names the file and the key."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from alma.config import Settings, load_settings
from alma.errors import ConfigurationError

Write = Callable[[str], Path]

DOCUMENTED = """
alma:
  project_id: "my-project"
  storage: sqlite
  embedding_provider: local
  storage_dir: .alma
  db_name: alma.db
  embedding_dim: 384
  agents:
    helena: {domain: coding, can_learn: [testing_strategies, selector_patterns], cannot_learn: [backend_logic],
             min_occurrences_for_heuristic: 3, share_with: [qa_lead]}
    victor: {domain: coding, can_learn: [api_patterns], cannot_learn: [frontend_selectors], inherit_from: [senior_architect]}
  postgres: {host: localhost, port: 5432, database: alma, user: alma_user, password: "${POSTGRES_PASSWORD}", vector_index_type: hnsw}
  qdrant: {url: "http://localhost:6333", api_key: "${QDRANT_API_KEY:-}", collection_prefix: alma}
  pinecone: {api_key: "${PINECONE_API_KEY}", environment: us-east-1-aws, index_name: alma-memories, host: null}
  chroma: {persist_directory: .alma/chroma}
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / ".alma" / "config.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def load(path: Path, **environ: str) -> Settings:
    return load_settings(path, environ=environ)


def problem(path: Path, **environ: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(path, **environ)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


def test_the_documented_file_loads_whole(write: Write, tmp_path: Path) -> None:
    settings = load(write(DOCUMENTED), POSTGRES_PASSWORD="hush", PINECONE_API_KEY="key")

    assert (settings.project_id, settings.storage, settings.embedding_provider) == ("my-project", "sqlite", "local")
    assert (settings.storage_dir, settings.db_name, settings.embedding_dim) == (tmp_path.resolve() / ".alma", "alma.db", 384)
    assert settings.agents["helena"].share_with == ("qa_lead",)
    assert settings.agents["victor"].inherit_from == ("senior_architect",)
    assert settings.postgres is not None
    assert settings.postgres.password == SecretStr("hush")
    assert settings.qdrant is not None
    assert settings.qdrant.api_key == SecretStr("")


def test_the_documented_file_loads_without_the_variables_of_its_stores(write: Write) -> None:
    settings = load(write(DOCUMENTED))
    assert settings.postgres is not None
    assert settings.postgres.password is None


def test_a_variable_that_is_not_set_is_an_error_elsewhere(write: Write) -> None:
    told = problem(write("project_id: '${PROJECT}'"))
    assert "project_id: the environment variable PROJECT is not set" in told
    told = problem(write("project_id: p\npostgres: {host: 'db.${PLACE}'}"))
    assert "postgres.host: the environment variable PLACE is not set" in told


def test_settings_may_stand_at_the_top_level(write: Write) -> None:
    assert load(write("project_id: p\nembedding_provider: hash")).embedding_provider == "hash"


def test_a_project_id_is_enough(write: Write, tmp_path: Path) -> None:
    settings = load(write("project_id: p"))

    assert settings == Settings(project_id="p", storage_dir=tmp_path.resolve() / ".alma")
    assert (settings.storage, settings.embedding_provider, settings.db_name, settings.agents) == ("sqlite", "auto", "alma.db", {})


def test_settings_are_frozen(write: Write) -> None:
    settings = load(write("project_id: p"))
    with pytest.raises(ValidationError):
        settings.project_id = "other"  # type: ignore[misc]


def test_secrets_are_not_shown(write: Write) -> None:
    assert "hush" not in repr(load(write(DOCUMENTED), POSTGRES_PASSWORD="hush", PINECONE_API_KEY="hush"))


def test_sqlite_settings_may_be_nested_like_those_of_other_backends(write: Write) -> None:
    assert load(write("project_id: p\nsqlite: {db_name: nested.db}")).db_name == "nested.db"


def test_the_same_setting_nested_and_flat_is_refused(write: Write) -> None:
    assert "db_name: is given twice" in problem(write("project_id: p\ndb_name: a.db\nsqlite: {db_name: b.db}"))


def test_scoring_is_read(write: Write) -> None:
    scoring = load(write("project_id: p\nscoring: {weights: {recency: 0, similarity: 1}, half_life_days: 7}")).scoring

    assert (scoring.weights.similarity, scoring.weights.recency, scoring.weights.success) == (1.0, 0.0, 0.2)
    assert scoring.half_life_days == 7.0


def test_dates_and_odd_keys_stay_text(write: Write) -> None:
    settings = load(write("project_id: 2026-01-31\nagents: {yes: {}, 123: {}, on: {domain: no-code}}"))

    assert settings.project_id == "2026-01-31"
    assert set(settings.agents) == {"yes", "123", "on"}


def test_anchors_and_merge_keys_work_in_small(write: Write) -> None:
    settings = load(
        write(
            "project_id: p\nagents:\n  a: &rules {domain: coding, can_learn: [x]}\n  b: {<<: *rules, domain: sales}\n  c: *rules"
        )
    )

    assert (settings.agents["b"].domain, settings.agents["b"].can_learn) == ("sales", ("x",))
    assert settings.agents["c"] == settings.agents["a"]


def test_a_file_with_a_byte_order_mark_loads(write: Write) -> None:
    assert load(write("\ufeffproject_id: p")).project_id == "p"


def test_the_environment_of_the_process_is_the_default(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALMA_TEST_PROJECT", "from-environment")
    assert load_settings(write('project_id: "${ALMA_TEST_PROJECT}"')).project_id == "from-environment"


def test_a_missing_file_names_the_command_that_makes_one(tmp_path: Path) -> None:
    assert "`alma init`" in problem(tmp_path / ".alma" / "config.yaml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the file is empty"),
        ("# only a comment\n", "the file is empty"),
        ("- project_id: p", "the file must hold `key: value` lines, not a list"),
        ("just text", "the file must hold `key: value` lines, not a single value"),
        ("alma:", "alma: is empty"),
        ("alma: null", "alma: is empty"),
        ("alma: [1]", "alma: must hold `key: value` lines, not a list"),
        ("alma: {project_id: p}\nproject_id: q", "project_id: stands beside `alma:`"),
        ("alma: {storage: sqlite}", "alma.project_id: is missing"),
        ("{}", "project_id: is missing"),
        ("project_id: ''", "project_id: must not be empty"),
        ("project_id: '   '", "project_id: must not be empty"),
        ("project_id: null", "project_id: must be text"),
        ("project_id: 123", "project_id: must be text; put it in quotes (it is '123')"),
        ("project_id: yes", "project_id: true and false mean nothing here"),
        ("project_id: [p]", "project_id: must be text"),
        (f"project_id: {'x' * 201}", "project_id: String should have at most 200 characters"),
        ('project_id: "a\\u0007b"', "project_id: must not hold characters that cannot be printed"),
        ('project_id: "a\\0b"', "project_id: it holds a NUL character"),
        ('project_id: "a\\ud800b"', "project_id: it holds half of a surrogate pair"),
        ("project_id: p\nagents: [helena]", "agents: must hold `key: value` lines, not a list"),
        ("project_id: p\nagents:", "agents: is empty"),
        ("project_id: p\nagents: {helena: null}", "agents.helena: is empty"),
        ("project_id: p\nagents: {helena: coding}", "agents.helena: must hold `key: value` lines, not a single value"),
        ("project_id: p\nagents: {'': {}}", "agents.: must not be empty"),
        ("project_id: p\nagents: {helena: {can_learn: testing}}", "agents.helena.can_learn: must be a list (it is 'testing')"),
        ("project_id: p\nagents: {helena: {can_learn: [1]}}", "agents.helena.can_learn.0: must be text"),
        (
            "project_id: p\nagents: {helena: {min_occurrences_for_heuristic: 0}}",
            "agents.helena.min_occurrences_for_heuristic: should be gr",
        ),
        ("project_id: p\nagents: {helena: {min_occurrences_for_heuristic: many}}", "must be a whole number (it is 'many')"),
        ("project_id: p\nembedding_dim: true", "embedding_dim: true and false mean nothing here"),
        ("project_id: p\nembedding_dim: 0", "embedding_dim: should be greater than or equal to 1"),
        ("project_id: p\nembedding_dim: 3.5", "embedding_dim: must be a whole number"),
        ("project_id: p\nscoring: {weights: {recency: -1}}", "scoring.weights.recency: should be greater than or equal to 0"),
        (
            "project_id: p\nscoring: {weights: {recency: 1000001}}",
            "scoring.weights.recency: should be less than or equal to 1000000",
        ),
        ("project_id: p\nscoring: {weights: {recency: .nan}}", "scoring.weights.recency: should be a finite number"),
        ("project_id: p\nscoring: {weights: {recency: high}}", "scoring.weights.recency: must be a number"),
        ("project_id: p\nscoring: {half_life_days: 0}", "scoring.half_life_days: should be greater than 0"),
        ("project_id: p\nscoring: [1]", "scoring: must hold `key: value` lines"),
        (
            "project_id: p\nscoring: {weights: {similarity: 0, recency: 0, success: 0, confidence: 0}}",
            "scoring.weights: at least one weight must be above 0",
        ),
        ("project_id: p\nchroma: here", "chroma: must hold `key: value` lines"),
        ("project_id: p\npostgres: {port: 70000}", "postgres.port: should be less than or equal to 65535"),
        (
            "project_id: p\npostgres: {vector_index_type: flat}",
            "postgres.vector_index_type: should be 'hnsw', 'ivfflat' or 'none'",
        ),
        ("project_id: p\nstorage_dir: [a]", "storage_dir: must be text"),
        ("project_id: p\nstorage_dir: ../elsewhere", "storage_dir '../elsewhere' leads out of"),
        ("project_id: p\ndb_name: ../x.db", "db_name '../x.db' must be a plain file name"),
        ("project_id: p\nhost: db1", "host: is a setting of postgres, pinecone, chroma"),
    ],
)
def test_a_wrong_file_is_told_by_key(write: Write, text: str, expected: str) -> None:
    assert expected in problem(write(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("project: p", "project: unknown key, did you mean 'project_id'?"),
        (
            "alma: {project_id: p, embeding_provider: hash}",
            "alma.embeding_provider: unknown key, did you mean 'embedding_provider'?",
        ),
        ("project_id: p\nagents: {helena: {canlearn: []}}", "agents.helena.canlearn: unknown key, did you mean 'can_learn'?"),
        ("project_id: p\nscoring: {weight: {}}", "scoring.weight: unknown key, did you mean 'weights'?"),
        ("project_id: p\nscoring: {weights: {Recency: 1}}", "scoring.weights.Recency: unknown key, did you mean 'recency'?"),
        ("project_id: p\npostgres: {hostname: h}", "postgres.hostname: unknown key, did you mean 'host'?"),
        ("project_id: p\nqdrant: {collection: h}", "qdrant.collection: unknown key, did you mean 'collection_prefix'?"),
        ("project_id: p\nsqlite: {dbname: h}", "sqlite.dbname: unknown key, did you mean 'db_name'?"),
    ],
)
def test_an_unknown_key_brings_the_nearest_known_one(write: Write, text: str, expected: str) -> None:
    assert expected in problem(write(text))


def test_an_unknown_key_like_no_other_brings_the_list(write: Write) -> None:
    told = problem(write("project_id: p\nzzz: 1"))
    assert "did you mean" not in told
    assert "known are project_id, storage" in told


@pytest.mark.parametrize("key", ["federation"])
def test_a_reserved_key_says_that_it_is_not_built_yet(write: Write, key: str) -> None:
    assert problem(write(f"project_id: p\n{key}: {{}}")) == f"{key}: is not built yet; remove it"


@pytest.mark.parametrize("name", ["postgres", "qdrant", "chroma", "pinecone", "azure"])
def test_a_storage_of_another_package_names_the_package_and_its_extra(write: Write, name: str) -> None:
    told = problem(write(f"project_id: p\nstorage: {name}"))
    assert f"storage: '{name}' comes with the package alma-{name}, which is not installed; there is sqlite" in told
    assert f'pip install "alma-core[{name}] @ git+URL#subdirectory=packages/alma-core"' in told


def test_an_unknown_storage_lists_what_there_is(write: Write) -> None:
    told = problem(write("project_id: p\nstorage: SQLlite"))
    assert "unknown 'SQLlite', did you mean 'sqlite'?; there is sqlite, file (with packages of their own: postgres" in told


@pytest.mark.parametrize("name", ["local", "minilm", "auto", "hash", "mock", "sentence-transformers", "openai", "azure"])
def test_every_built_embedder_is_accepted(write: Write, name: str) -> None:
    assert load(write(f"project_id: p\nembedding_provider: {name}")).embedding_provider == name


def test_an_unknown_embedder_lists_what_there_is(write: Write) -> None:
    assert "unknown 'minlm', did you mean 'minilm'?" in problem(write("project_id: p\nembedding_provider: minlm"))


def test_an_embedder_of_a_third_party_is_accepted(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "site" / "third_party-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[alma.embedders]\ntheirs = json:loads\n")
    monkeypatch.syspath_prepend(str(info.parent))

    assert load(write("project_id: p\nembedding_provider: theirs")).embedding_provider == "theirs"


def test_a_wrong_secret_is_not_repeated(write: Write) -> None:
    told = problem(write("project_id: p\npostgres: {password: [hush]}"))
    assert "postgres.password: must be text" in told
    assert "hush" not in told


def test_the_cause_is_chained(write: Write) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(write("project_id: 5"))
    assert isinstance(caught.value.__cause__, ConfigurationError)
    assert isinstance(caught.value.__cause__.__cause__, ValidationError)


def test_settings_built_by_hand_are_held_to_the_same_rules(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="comes with the package alma-postgres"):
        Settings(project_id="p", storage_dir=tmp_path, storage="postgres")
    with pytest.raises(ConfigurationError, match="plain file name"):
        Settings(project_id="p", storage_dir=tmp_path, db_name="a/b")
    with pytest.raises(ValidationError, match=re.escape("must be an absolute path")):
        Settings(project_id="p", storage_dir=Path("relative"))
