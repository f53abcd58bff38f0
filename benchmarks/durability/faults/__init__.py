"""Harm that is no kill: to disks, files, locks, limits and clocks. Each scenario is a function from a place to its trials."""

from collections.abc import Callable, Mapping

from benchmarks.durability.faults import clocks, disk, files, limits, pages, underfoot
from benchmarks.durability.faults.trials import Place, Trial

Scenario = Callable[[Place], list[Trial]]

SCENARIOS: Mapping[str, Scenario] = {
    "disk-full": disk.full,
    "file-limit": disk.limited,
    "not-writable": disk.not_writable,
    "torn-database": pages.torn_database,
    "torn-log": pages.torn_log,
    "torn-snapshot": pages.torn_snapshot,
    "log-gone": files.log_gone,
    "log-gone-underfoot": underfoot.log_gone,
    "moved-underfoot": underfoot.moved,
    "snapshot-attacked": files.snapshot_attacked,
    "locks-attacked": underfoot.locks_attacked,
    "clock": clocks.set_back,
    "no-descriptors": limits.no_descriptors,
    "no-memory": limits.no_memory,
}
"""The scenarios by the name that the command line knows."""
