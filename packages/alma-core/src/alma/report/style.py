"""How the page looks: light and dark, on screens of any width and on paper."""

KIND_COLOURS = {
    "outcome": "--c1",
    "heuristic": "--c2",
    "anti_pattern": "--c3",
    "domain_knowledge": "--c4",
    "user_preference": "--c5",
}
OTHER_COLOURS = ("--c6", "--c7", "--c8")

CSS = """
:root {
  color-scheme: light dark;
  --page: #f6f5f1; --card: #ffffff; --ink: #1d2329; --soft: #5c6670; --line: #e2e0d9; --track: #ebe9e2; --accent: #1f6f78;
  --good: #2b7a4b; --bad: #b3382c; --warn: #9a6700;
  --c1: #4c78a8; --c2: #3f8f5f; --c3: #c4513d; --c4: #8a63b0; --c5: #c98a1b; --c6: #2a9aa3; --c7: #b0527f; --c8: #7a7f87;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1c2126; --ink: #e6e8ea; --soft: #9aa5af; --line: #2d343b; --track: #2a3037; --accent: #6cc3cc;
    --good: #6fcf97; --bad: #f08a7d; --warn: #e3b341;
    --c1: #7aa6d6; --c2: #6bbf8c; --c3: #ea8371; --c4: #b794d9; --c5: #e3b04b; --c6: #5cc4cc; --c7: #d98bb0; --c8: #9aa1a9;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 60px; }
header { margin-bottom: 22px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 2px; }
p { margin: 0; }
.soft { color: var(--soft); }
.small { font-size: 13px; }
.lead { color: var(--soft); margin-bottom: 14px; max-width: 90ch; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; margin-top: 16px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); gap: 12px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.tile b { display: block; font-size: 26px; line-height: 1.2; font-weight: 650; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.chart { min-width: 560px; }
.grid { stroke: var(--line); stroke-width: 1; }
.scale { width: 200px; max-width: 200px; }
.scale .grid { stroke: var(--soft); opacity: .55; }
.tick { stroke: var(--ink); stroke-width: 2; }
h3 { font-size: 15px; margin: 16px 0 2px; overflow-wrap: anywhere; }
th.group { color: var(--ink); font-weight: 600; padding-top: 16px; overflow-wrap: anywhere; }
th.group .soft { font-weight: 400; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 10px; font-size: 13px; }
.legend i, .badge i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; }
.badge { white-space: nowrap; font-size: 13px; color: var(--soft); }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; font-size: 12.5px; color: var(--soft); padding: 4px 12px 6px 0; border-bottom: 1px solid var(--line); }
td { padding: 8px 12px 8px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child > td { border-bottom: 0; }
th:last-child, td:last-child { padding-right: 0; }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.text { overflow-wrap: anywhere; min-width: 220px; }
.name { overflow-wrap: anywhere; font-weight: 600; min-width: 90px; }
.name .soft { font-weight: 400; }
.nowrap { white-space: nowrap; }
.bar { display: flex; height: 10px; border-radius: 5px; overflow: hidden; background: var(--track); min-width: 90px; }
td > .bar { margin-top: 6px; }
.bar span { display: block; height: 100%; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.mark { text-align: center; }
details { margin-top: 6px; } summary { cursor: pointer; color: var(--accent); font-size: 13px; }
ol { margin: 6px 0 0; padding-left: 22px; } li { overflow-wrap: anywhere; }
footer { margin-top: 22px; color: var(--soft); font-size: 13px; }
code { font: 12.5px ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@media print { body { background: none; } section, .tile { break-inside: avoid; } main { padding: 0; } }
"""


def colour_of(kind: str, kinds: tuple[str, ...]) -> str:
    """The colour of a kind as a CSS value; kinds of users take turns with three further ones, in the order of `kinds`."""
    others = [name for name in kinds if name not in KIND_COLOURS]
    variable = KIND_COLOURS.get(kind) or OTHER_COLOURS[others.index(kind) % len(OTHER_COLOURS)]
    return f"var({variable})"
