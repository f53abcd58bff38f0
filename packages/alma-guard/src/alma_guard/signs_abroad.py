"""The plainest orders of an injection in other languages than English: to set aside former instructions, and to show the prompt.

Each sign has words one of which stands in any text that bears it, and is written as those of `signs` are, in small letters.
"""

_UP_TO_3 = r"\W+(?:\w+\W+){0,3}?"


def _aside(verbs: str, whose: str, rules: str) -> str:
    """The sign of an order to set rules aside: a verb that is not negated, and near to it rules, with whose they are before or after them."""
    rules, whose = rf"(?:{rules})\w*", rf"(?:{whose})\w*"
    negated = r"(?<!\bno )(?<!\bn['’])(?<!\bnão )(?<!\bnon )(?<!\bikke )(?<!\binte )"
    return rf"\b{negated}(?:{verbs})\b{_UP_TO_3}(?:{whose}\W+(?:\w+\W+){{0,2}}?{rules}|{rules}\W+(?:\w+\W+){{0,2}}?{whose})"


SIGNS_ABROAD = (
    (  # German
        ("ignorier", "vergiss", "vergesst", "vergessen sie", "missacht"),
        _aside(
            r"ignorier\w*|vergiss|vergesst|vergessen\W+sie|missacht\w*",
            "vorherig|bisherig|vorig|vorangegangen|vorhergehend|obig|früher|ursprünglich|deine?|ihre|eure",
            "anweisung|instruktion|regel|vorgabe|befehl|richtlinie|prompt",
        ),
    ),
    (
        ("vergiss", "vergesst", "vergessen sie"),
        r"\b(?:vergiss|vergesst|vergessen\W+sie)\W+alles\b\W+(?:\w+\W+){0,2}?(?:was|wor)\w*\W+(?:\w+\W+){0,4}?(?:gesagt|gelernt|aufgetragen|angewiesen|bekommen)\b",
    ),
    (  # French
        ("ignore", "oublie"),
        _aside(
            "ignore[rsz]?|oublie[rsz]?",
            "précédent|antérieur|préalable|ci-dessus|tes|vos|ton|votre",
            "instruction|consigne|directive|règle|ordre|prompt",
        ),
    ),
    (  # Spanish, Portuguese, Italian
        ("ignor", "olvid", "esque", "dimentic", "descon"),
        _aside(
            r"ignor(?:a|e|en|em|ar|are|i|ate|ad)|olvid(?:a|e|en|ar|ad)|esque[cç](?:a|e|er|am)|dimentic(?:a|hi|are|ate)|descon\w+",
            "anterior|previ|prévi|precedent|acima|tus?|sus?|suas?|tuas?|teus?|seus?|tue|tuoi|vostre",
            "instruccion|instruç|istruzion|direc?tri[zc]|direttiv|directiv|reglas|regras|regole|órdenes|ordens|ordini|indicacion|prompt",
        ),
    ),
    (  # Dutch
        ("negeer", "vergeet"),
        _aside(
            "negeer|vergeet",
            "vorige|eerdere|voorgaande|bovenstaande|je|jouw|uw",
            "instructie|regel|opdracht|aanwijzing|richtlijn",
        ),
    ),
    (  # Swedish, Norwegian, Danish
        ("ignorer", "bortse", "glöm", "glem", "se bort", "strunta"),
        _aside(
            r"ignorera?|bortse|glöm|glem|se\W+bort|strunta",
            "tidigare|föregående|tidligere|foregående|forrige|ovanstående|dina|dine",
            "instruktion|instruks|regler|anvisning|direktiv|riktlinje|retningslinje",
        ),
    ),
    (  # Finnish
        ("unohda", "ohita", "älä huomioi", "jätä huomiotta"),
        _aside(r"unohda|ohita|älä\W+huomioi|jätä\W+huomiotta", "aiem|aikaisem|edelli|kaikki", "ohje|sään|käsky"),
    ),
    (  # Polish, Czech, Slovak
        ("ignoruj", "zignoruj", "zapomnij", "zapomeň", "zabudni"),
        _aside(
            r"z?ignoruj\w*|zapomnij\w*|zapomeň\w*|zabudni\w*",
            "poprzedni|wcześniejsz|powyższ|swoi|twoj|předchoz|predchádzaj|predošl|své|svoje",
            "instrukc|polece|zasad|reguł|pokyn|pravid|inštrukc",
        ),
    ),
    (  # Romanian, Hungarian
        ("ignor", "uită", "hagyd figyelmen", "felejtsd"),
        _aside(
            r"ignor[ăa]?(?:ți)?|uită|hagyd\W+figyelmen|felejtsd",
            "anterioar|precedent|tale|korábbi|előző|eddigi",
            "instrucțiun|instructiun|reguli|utasítás|szabály",
        ),
    ),
    (  # Russian, Ukrainian
        ("игнор", "ігнор", "забуд"),
        _aside(
            r"(?:про)?(?:игнорир|ігнор)\w*|забудь(?:те)?",
            "предыдущ|прежн|прошл|предшествующ|попередн|твои|свои|ваши|твої|свої",
            "инструкц|указани|правил|команд|інструкц|вказівк",
        ),
    ),
    (  # Turkish
        ("önceki", "yukarıdaki"),
        r"""\b(?:önceki|yukarıdaki)\W+(?:\w+\W+){0,2}?(?:talimat|komut|kural|yönerge)\w*\W+(?:\w+\W+){0,2}?
            (?:yok\W+say|görmezden|unut|dikkate\W+alma)\w*""",
    ),
    (  # Vietnamese, Indonesian, Malay
        ("bỏ qua", "quên", "phớt lờ", "abaikan", "lupakan"),
        _aside(
            r"bỏ\W+qua|quên|phớt\W+lờ|abaikan|lupakan",
            r"trước|ở\W+trên|sebelum|di\W+atas",
            r"hướng\W+dẫn|chỉ\W+dẫn|chỉ\W+thị|mệnh\W+lệnh|quy\W+tắc|instruksi|perintah|aturan|arahan|arahan",
        ),
    ),
    (
        ("αγνόησε", "αγνοήστε", "ξέχνα", "ξεχάστε"),
        _aside("αγνόησε|αγνοήστε|ξέχνα|ξεχάστε", "προηγούμεν|παραπάνω|σου", "οδηγί|εντολ|κανόν"),
    ),
    (("忽略", "无视", "無視", "忘记", "忘掉"), r"(?:忽略|无视|無視|忘记|忘掉).{0,12}?(?:指令|指示|说明|規則|规则|提示|命令)"),
    (("無視", "忘れ"), r"(?:以前|前|上記|これまで|今まで)の?.{0,8}?(?:指示|命令|指令|ルール|プロンプト).{0,10}?(?:無視|忘れ)"),
    (("무시", "잊"), r"(?:이전|위의|앞의|지금까지).{0,10}?(?:지시|명령|지침|규칙).{0,12}?(?:무시|잊)"),
    (("تجاهل", "انس"), r"(?:تجاهل|انس)\w*.{0,20}?(?:التعليمات|الأوامر|القواعد|التوجيهات).{0,12}?(?:السابقة|أعلاه)"),
    (("نادیده", "فراموش"), r"(?:دستور|دستورالعمل|قوانین)\S{0,6}.{0,12}?قبلی.{0,12}?(?:نادیده|فراموش)"),
    (("התעלם", "שכח"), r"(?:התעלם|שכח).{0,12}?(?:ההוראות|ההנחיות|הכללים).{0,12}?(?:הקודמות|הקודמים|שלך)"),
    (("अनदेखा", "नज़रअंदाज़", "भूल"), r"(?:पिछले|पूर्व|ऊपर).{0,12}?(?:निर्देश|आदेश|नियम).{0,20}?(?:अनदेखा|नज़रअंदाज़|भूल)"),
    (("ละเว้น", "เพิกเฉย", "ลืม"), r"(?:ละเว้น|เพิกเฉย|ลืม).{0,12}?(?:คำสั่ง|คำแนะนำ|กฎ).{0,16}?(?:ก่อนหน้า|ข้างต้น)"),
    (  # to show the prompt
        (
            "system prompt",
            "systemprompt",
            "system-prompt",
            "prompt sist",
            "prompt syst",
            "prompt de sist",
            "prompt del sist",
            "prompt do sist",
            "prompt di sist",
            "prompt système",
            "ocultas",
            "системн",
            "sistem istem",
        ),
        r"""\b(?:affich|révèl|montr|mostr|muestr|revel|exib|zeig|gib|verrat|offenbar|pokaż|ujawnij|visa|avslöja|vis\b|toon|onthul|pokaz|rivel|покаж|раскро|вывед|arăt|näytä|tampilkan|hiển|tiết)\w*\b
            [^.!?\n]{0,50}?(?:\bsystem\W?prompt\w*|\bprompt\W+(?:de\W+|do\W+|del\W+|di\W+)?(?:syst|sist)\w*|\binstruc\w+\W+ocultas|\bсистемн\w+\W+(?:промпт|инструкц|подсказк)\w*)
          | \bsistem\W+istem\w*\W+(?:göster|açıkla|yazdır)\w*""",
    ),
    (("系统提示词", "系統提示詞"), r"(?:输出|显示|告诉|泄露|公开|打印|輸出|顯示).{0,12}?(?:系统提示词|系統提示詞)"),
    (("システムプロンプト",), r"システムプロンプト.{0,6}?(?:表示|出力|教え|見せ)"),
    (("시스템 프롬프트",), r"시스템 프롬프트.{0,6}?(?:출력|보여|알려|공개)"),
)
"""Hints and signs, by language. Chinese and Japanese have no spaces between words, so distances are counted in characters."""
