"""The plainest order of an injection, to set aside former instructions, in other languages than English.

Each sign has words one of which stands in any text that bears it, and is written as those of `suspicion` are.
"""

_UP_TO_3 = r"\W+(?:\w+\W+){0,3}?"

SIGNS_ABROAD = (
    (  # German
        ("ignorier", "vergiss", "vergesst", "vergessen sie", "missacht"),
        rf"""\b(?:ignorier|vergiss|vergesst|vergessen\W+sie|missacht)\w*{_UP_TO_3}
             (?:vorherig|bisherig|vorig|vorangegangen|vorhergehend|obig|früher|ursprünglich|deine?|ihre|eure)\w*\W+(?:\w+\W+){{0,2}}?
             (?:anweisung|instruktion|regel|vorgabe|befehl|richtlinie|prompt)\w*""",
    ),
    (  # French, Spanish, Portuguese, Italian
        ("ignor", "oubli", "olvid", "esque", "dimentic", "descon"),
        rf"""\b(?:ignor|oubli|olvid|esque[cç]|dimentic|descon)\w*{_UP_TO_3}
             (?:instruction|instruccion|instruç|istruzion|consigne|directiv|diretri[zc]|direttiv|reglas|regras|regole|règles|órdenes|ordens|ordini
               |ordres|indicacion)\w*\W+(?:\w+\W+){{0,2}}?(?:précédent|antérieur|anterior|previ|prévi|precedent)\w*""",
    ),
    (  # Dutch
        ("negeer", "vergeet"),
        rf"""\b(?:negeer|vergeet)\b{_UP_TO_3}(?:vorige|eerdere|voorgaande|bovenstaande|je|jouw|uw)\W+(?:\w+\W+){{0,2}}?
             (?:instructies|regels|opdrachten|aanwijzingen|richtlijnen)\b""",
    ),
    (  # Polish
        ("ignoruj", "zapomnij"),
        rf"\b(?:z?ignoruj|zapomnij)\w*{_UP_TO_3}(?:poprzedni|wcześniejsz|powyższ)\w*\W+(?:\w+\W+){{0,2}}?(?:instrukcj|polece|zasad|reguł)\w*",
    ),
    (  # Russian, Ukrainian
        ("игнор", "ігнор", "забуд"),
        rf"""\b(?:про)?(?:игнор|ігнор|забуд)\w*{_UP_TO_3}(?:предыдущ|прежн|прошл|предшествующ|попередн)\w*\W+(?:\w+\W+){{0,2}}?
             (?:инструкц|указани|правил|команд|інструкц|вказівк)\w*""",
    ),
    (  # Turkish
        ("önceki", "yukarıdaki"),
        r"""\b(?:önceki|yukarıdaki)\W+(?:\w+\W+){0,2}?(?:talimat|komut|kural|yönerge)\w*\W+(?:\w+\W+){0,2}?
            (?:yok\W+say|görmezden|unut|dikkate\W+alma)\w*""",
    ),
    (("忽略", "无视", "無視", "忘记", "忘掉"), r"(?:忽略|无视|無視|忘记|忘掉).{0,12}?(?:指令|指示|说明|規則|规则|提示|命令)"),
    (("無視", "忘れ"), r"(?:以前|前|上記|これまで|今まで)の?.{0,8}?(?:指示|命令|指令|ルール|プロンプト).{0,10}?(?:無視|忘れ)"),
    (("무시", "잊"), r"(?:이전|위의|앞의|지금까지).{0,10}?(?:지시|명령|지침|규칙).{0,12}?(?:무시|잊)"),
    (("تجاهل", "انس"), r"(?:تجاهل|انس)\w*.{0,20}?(?:التعليمات|الأوامر|القواعد|التوجيهات).{0,12}?(?:السابقة|أعلاه)"),
    (("अनदेखा", "नज़रअंदाज़", "भूल"), r"(?:पिछले|पूर्व|ऊपर).{0,12}?(?:निर्देश|आदेश|नियम).{0,20}?(?:अनदेखा|नज़रअंदाज़|भूल)"),
)
"""Hints and signs, by language. Chinese and Japanese have no spaces between words, so distances are counted in characters."""
