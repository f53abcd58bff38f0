"""English words of numbers and units, and forms of words that no rule leads back. Plain words, as they are written."""

NUMBERS = {
    "one": "1", "single": "1", "two": "2", "twice": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "dozen": "12", "fifteen": "15", "sixteen": "16", "twenty": "20",
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90", "hundred": "100",
    "thousand": "1000", "thrice": "3", "double": "2", "doubled": "2", "doubling": "2", "triple": "3",
    "tripled": "3", "tripling": "3",
}  # fmt: skip

UNITS = {
    "ms": ("s", 0.001), "millisecond": ("s", 0.001), "s": ("s", 1), "sec": ("s", 1), "second": ("s", 1), "m": ("s", 60), "min": ("s", 60),
    "minute": ("s", 60), "h": ("s", 3600), "hr": ("s", 3600), "hour": ("s", 3600), "d": ("s", 86400), "day": ("s", 86400),
    "week": ("s", 604800), "month": ("month", 1), "year": ("month", 12), "b": ("B", 1), "byte": ("B", 1), "kb": ("B", 1e3), "mb": ("B", 1e6),
    "gb": ("B", 1e9), "tb": ("B", 1e12), "kib": ("B", 1e3), "mib": ("B", 1e6), "gib": ("B", 1e9), "%": ("%", 1), "percent": ("%", 1),
    "ki": ("B", 1e3), "mi": ("B", 1e6), "gi": ("B", 1e9), "k": ("", 1e3), "x": ("", 1), "time": ("", 1),
    "eur": ("EUR", 1), "euro": ("EUR", 1), "usd": ("USD", 1), "dollar": ("USD", 1), "gbp": ("GBP", 1), "pound": ("GBP", 1), "chf": ("CHF", 1),
}  # fmt: skip
"""A unit with what it measures and how much of it one is."""

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
