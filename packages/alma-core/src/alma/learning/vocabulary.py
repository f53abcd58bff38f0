"""English words that turn a sentence round, say little, or say how many. Plain words, as they are written."""

NEGATORS = frozenset(
    """
    avoid avoided avoiding avoids ban banned bans cannot cant dont excluding except forbid forbade forbidden forbids
    instead neither never no non none nor not omit omits omitted omitting prohibit prohibited prohibits rather refrain refrained
    refraining skip skipped skipping skips stop stopped stopping stops unless without wont zero
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""Words that deny what follows them. Those that end in n't do, too."""

RESTRICTORS = frozenset(("only", "just", "solely", "exclusively"))

SAYING_LITTLE = frozenset(
    """
    always approach approaches appropriate attempt attempted case clear clearly decide decided directly employ employed every
    first following go goal help immediately kind made make makes making method methods need needed others please possible
    practice properly put puts putting really set sets simple simply strategies strategy successfully technique techniques then
    tried tries try trying use used uses using utilise utilised utilize utilized utilizing want wanted way ways well work worked
    works
    """.split()  # noqa: SIM905
)
"""Words that say next to nothing about what was tried."""

GENRES = frozenset(
    ("deploy", "deployment", "pattern", "process", "prompt", "prompting", "release", "rollout", "update", "upgrade")
)
"""Words that only say what sort of thing was named: a blue-green deployment is blue-green."""

NUMBERS = {
    "one": "1", "single": "1", "two": "2", "twice": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "dozen": "12", "fifteen": "15", "sixteen": "16", "twenty": "20",
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90", "hundred": "100",
    "thousand": "1000", "thrice": "3", "double": "2", "doubled": "2", "doubling": "2", "triple": "3",
    "tripled": "3", "tripling": "3",
}  # fmt: skip

AMOUNTS = frozenset(("double", "doubled", "doubling", "triple", "tripled", "tripling"))
"""Numbers that are verbs, too."""

DOUBLED = frozenset(
    """
    asterisk backtick blind book brace bracket buffer charge check click clutch colon count dash encode entry equals escape fetch free hash hop
    opt precision quote round slash space spend star submit tap underscore write
    """.split()  # noqa: SIM905
)
"""Things of which "double" names a kind: "double quotes", not "double limits"."""

UNITS = {
    "ms": ("s", 0.001), "millisecond": ("s", 0.001), "s": ("s", 1), "sec": ("s", 1), "second": ("s", 1), "m": ("s", 60), "min": ("s", 60),
    "minute": ("s", 60), "h": ("s", 3600), "hr": ("s", 3600), "hour": ("s", 3600), "d": ("s", 86400), "day": ("s", 86400),
    "week": ("s", 604800), "month": ("month", 1), "year": ("month", 12), "b": ("B", 1), "byte": ("B", 1), "kb": ("B", 1e3), "mb": ("B", 1e6),
    "gb": ("B", 1e9), "tb": ("B", 1e12), "kib": ("B", 1e3), "mib": ("B", 1e6), "gib": ("B", 1e9), "%": ("%", 1), "percent": ("%", 1),
    "ki": ("B", 1e3), "mi": ("B", 1e6), "gi": ("B", 1e9), "k": ("", 1e3), "x": ("", 1), "time": ("", 1),
    "eur": ("EUR", 1), "euro": ("EUR", 1), "usd": ("USD", 1), "dollar": ("USD", 1), "gbp": ("GBP", 1), "pound": ("GBP", 1), "chf": ("CHF", 1),
}  # fmt: skip
"""A unit with what it measures and how much of it one is."""

COMPOUNDS = frozenset(
    """
    backend backoff backup bitmap checkpoint codebase database dataset deadlock email endpoint failover feedback filename
    followup frontend handoff handwritten hotfix keyword lockfile login logout lookup mergesort microservice namespace newline
    noop offline online overnight payload precompute prefetch preload rebuild redo rename reopen replay reread rerun retest
    retries retry rewrite rollback rollout runtime setup shortcut startup subtask timeout timestamp timezone tradeoff trunkbased
    typecheck username webhook whitelist workaround workflow worktree
    """.split()  # noqa: SIM905
)
"""Words that are also written as two, or with a hyphen."""

ABBREVIATIONS = {
    ("pull", "request"): "pr", ("merge", "request"): "mr", ("regular", "expression"): "regex", ("command", "line"): "cli",
    ("user", "interface"): "ui", ("continuous", "integration"): "ci", ("machine", "learning"): "ml", ("language", "model"): "llm",
}  # fmt: skip
"""Two words that are also written as one short one."""

IRREGULAR = {
    "began": "begin", "begun": "begin", "bought": "buy", "broke": "break", "broken": "break", "brought": "bring", "built": "build",
    "caught": "catch", "chose": "choose", "chosen": "choose", "came": "come", "did": "do", "done": "do", "drew": "draw", "drawn": "draw",
    "drove": "drive", "fell": "fall", "felt": "feel", "found": "find", "froze": "freeze", "frozen": "freeze", "gave": "give", "given": "give",
    "grew": "grow", "grown": "grow", "held": "hold", "hidden": "hide", "hid": "hide", "kept": "keep", "knew": "know", "known": "know",
    "laid": "lay", "led": "lead", "lost": "lose", "met": "meet", "paid": "pay", "ran": "run", "said": "say", "saw": "see",
    "seen": "see", "sent": "send", "sold": "sell", "shown": "show", "shrank": "shrink", "shrunk": "shrink", "spent": "spend", "spoke": "speak",
    "spoken": "speak", "stood": "stand", "stuck": "stick", "taken": "take", "taught": "teach",
    "threw": "throw", "thrown": "throw", "told": "tell", "took": "take", "thought": "think", "understood": "understand", "went": "go",
    "won": "win", "wrote": "write", "written": "write", "indices": "index", "indexes": "index", "queries": "query",
    "dev": "development", "prod": "production", "criteria": "criterion", "children": "child", "people": "person",
}  # fmt: skip
"""Forms that no rule of endings leads back, and what is short for a word."""
