"""`python -m benchmarks.played`: plays the worlds of files, prints the figures, and may hold them against limits and an earlier run."""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import gates, played
from benchmarks.played.cached_embedder import CachedEmbedder
from benchmarks.played.facade import facade_opener
from benchmarks.played.figures import Tally, compare, make_table
from benchmarks.played.limits import above_floor, make_gates
from benchmarks.played.memories import OpenMemory
from benchmarks.played.one_kind import OneKind, play_one_kind, read_one_kinds
from benchmarks.played.playing import Say, play_store
from benchmarks.played.worlds import World, read_worlds
from benchmarks.records import DataError
from benchmarks.screen import wide_console

DATA = Path(__file__).parents[1] / "data" / "played"
SEEDS = (1, 2, 3, 4)
ONE_KIND = frozenset({"one_kind_heuristic", "one_kind_mixed"})


def main(arguments: Sequence[str] | None = None, open_memory: OpenMemory | None = None) -> None:
    """Runs the benchmark as the command line says, with ALMA unless another memory is given.

    Ends the process with 1 and a message if the worlds cannot be read, or if a limit is asked for and missed.
    """
    options = _parser().parse_args(arguments)
    try:
        worlds = _select([world for path in options.worlds for world in read_worlds(path)], options.only)
        kinds = [] if options.only or not options.one_kind else read_one_kinds(options.one_kind)
    except DataError as error:
        sys.exit(str(error))
    memory = open_memory or (_import_memory(options.memory) if options.memory else _open_facade(options.embedder))
    columns, stores = play_all(worlds, kinds, options.seeds, memory, print if options.verbose else lambda _: None)
    everything = columns["all"]
    names = ", ".join(path.name for path in options.worlds)
    print(f"\n{names}, seeds {options.seeds}, {options.memory or options.embedder}, {len(stores)} stores\n")
    print(make_table(columns))
    print(f"\nfirst suggestion truly bad, above the floor: {above_floor(everything):+.3f}")
    if options.against:
        before = json.loads(options.against.read_text(encoding="utf-8")).get("questions", [])
        print("\n" + "\n".join(compare(before, everything.questions)))
    if options.json:
        about = {"worlds": names, "seeds": options.seeds, "embedder": options.embedder, "memory": options.memory}
        _write_json(options.json, about, columns, stores, everything)
    if options.gates:
        found = make_gates(everything, is_kept=options.gates == "kept", left_out=frozenset() if kinds else ONE_KIND)
        gates.show(wide_console(), found, f"Limits, {options.gates} worlds")
        gates.enforce(found)


def play_all(
    worlds: Sequence[World], kinds: Sequence[OneKind], seeds: Sequence[int], memory: OpenMemory, say: Say
) -> tuple[dict[str, Tally], dict[str, Tally]]:
    """Plays each world with each seed. Returns the tallies of each world and of all together, and those of each store."""
    plays = [(world.name, seed, partial(play_store, world, seed, memory, say)) for world in worlds for seed in seeds]
    plays += [("one kind", seed, partial(play_one_kind, kind, seed, memory, say)) for kind in kinds for seed in seeds]
    stores: dict[str, Tally] = {}
    columns: dict[str, Tally] = {}
    everything = Tally()
    for number, (column, seed, play_one) in enumerate(plays, 1):
        print(f"{number} of {len(plays)}: {column}, seed {seed}", file=sys.stderr)
        tally = play_one()
        for each in (stores.setdefault(f"{column}/{seed}", Tally()), columns.setdefault(column, Tally()), everything):
            each.add(tally)
    return columns | {"all": everything}, stores


def _select(worlds: list[World], names: Sequence[str] | None) -> list[World]:
    missing = set(names or ()) - {world.name for world in worlds}
    if missing:
        raise DataError(f"no world is named {', '.join(sorted(missing))}")
    return [world for world in worlds if not names or world.name in names]


def _import_memory(name: str) -> OpenMemory:
    """Returns what `module:name` is, imported from the current folder or where Python finds it."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    found: OpenMemory = getattr(import_module(module), attribute)
    return found


def _open_facade(embedder: str) -> OpenMemory:
    from alma.embedding import create_embedder

    return facade_opener(CachedEmbedder(create_embedder(embedder)))


def _write_json(
    path: Path, about: dict[str, Any], columns: dict[str, Tally], stores: dict[str, Tally], everything: Tally
) -> None:
    figures = {name: each.as_json() for name, each in columns.items()}
    body = about | {"figures": figures, "stores": {name: each.as_json() for name, each in stores.items()}}
    text = json.dumps(body | {"questions": everything.questions}, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.played", description=played.__doc__)
    parser.add_argument(
        "worlds", type=Path, nargs="*", default=[DATA / "worlds_tune.json"], help="files of worlds (default: those for tuning)"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), metavar="N", help="(default: 1 2 3 4)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="play these worlds alone")
    parser.add_argument(
        "--one-kind", type=Path, default=DATA / "one_kind.json", metavar="FILE", help="stores of one kind of task"
    )
    parser.add_argument("--embedder", default="minilm", choices=["minilm", "hash"], help="(default: minilm)")
    parser.add_argument(
        "--memory", metavar="MODULE:NAME", help="another memory than ALMA: an `OpenMemory` of benchmarks.played.memories"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures and the answers here, too")
    parser.add_argument("--against", type=Path, metavar="FILE", help="the JSON of an earlier run: print what changed")
    parser.add_argument(
        "--gates", nargs="?", const="development", choices=["development", "kept"], help="end with 1 if a limit is missed"
    )
    parser.add_argument("--verbose", action="store_true", help="print all that was said, and how it was read")
    return parser


if __name__ == "__main__":
    main()
