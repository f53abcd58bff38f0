"""The words by which a claim is read: what says little, what denies, which verbs state something, and which values exclude each other."""

from alma import text
from alma_learning.stems import stem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FILLERS = _words(
    """
    a an the this that these those our my your his her their its we i you he she it they us me them one
    is are be being been am has have had having do does did will would shall there here
    of in on at by to for from with into as and per via than so
    always now currently today nowadays anymore still already again please just really very also simply generally usually longer yet
    use uses using used make makes prefer prefers preferred want wants wish wishes like likes must should can could may might need needs
    ought keep keeps love loves enjoy enjoys
    """
)
"""Words without which a claim says the same. Words such as "before", "without", "only" and "if" are not among them."""

DENYING = _words(
    "no not never cannot without cant wont dont doesnt isnt arent nor hate hates dislike dislikes detest detests loathe loathes"
)
"""Words that deny what follows. To hate something denies to like it, which is said without a word of its own (see `FILLERS`): one more of the 64
contradictions that were kept apart, none more among 15,494 sentences of LongMemEval, of those that speak of likes with all others."""

UNSURE_AFTER_NOT = _words("only always necessarily just every everything all more less until before exactly fewer most entirely")
"""Behind a denial these words leave open what is denied."""

VAGUE = _words(
    """
    about almost approx approximately around ca circa maybe nearly often perhaps possibly probably roughly several some sometimes
    typically various
    """
)
"""Words of a sentence that commits to no value."""

HEADLESS = _words(
    """
    allows applies are belongs can consists contains costs could does expires gets gives goes has have holds is lasts listens may means
    might must requires returns runs should stays takes waits will would
    """
)
"""Words that begin a sentence without its subject."""

PAST = _words("was were did had wasn't weren't didn't hadn't haven't hasn't wasn’t weren’t didn’t hadn’t haven’t hasn’t")

STATING = _words(
    """
    is are be has have must should can may cannot need needs will
    allow allows apply applies ask asks begin begins belong belongs change changes charge charges close closes consist consists cost costs
    deliver delivers end ends equal equals expire expires get gets give gives go goes hold holds keep keeps last lasts leave leaves listen
    listens live lives lock locks log logs means offer open opens own owns pay pays point points rebuild receive receives refresh refreshes
    reside resides require requires reset resets retry return returns run runs sit sits sleep sleeps start starts stay stays stop stops store
    stores take takes time times use uses wait waits weigh weighs work works write writes
    """
)
"""Verbs in the present that say how something is. What happened once, in the past, contradicts nothing."""

PLAIN = _words("is are be")
OFFERING = _words(
    """
    accept accepted accepts available contain contains cover covers include included includes mean means offer offers provide provides
    speak speaks support supported supports visit visits know knows read reads eat eats link links mention mentions e.g example examples
    """
)
"""Words that name one of several: who supports one thing may support another."""

BESIDE = _words("in on at by")
"""Prepositions before a name that is the only one."""

OWNED = _words("the our my your this")

COUNTED = frozenset(
    map(
        stem,
        """
        ticket issue bug node step release run error status chapter page task order invoice payment customer case build server host test number id no
        attempt job incident milestone sprint episode question section part item row line phase room gate floor player device team
        """.split(),  # noqa: SIM905
    )
)
"""Nouns before a number that is a name: node 1 and node 2 are two things."""

CHANGED = _words(
    """
    changed raised increased lowered reduced moved switched migrated bumped extended shortened cut upgraded downgraded renamed updated
    decreased converted
    """
)

MONTHS = {name: number for number, name in enumerate(text.MONTHS, 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items() if name != "may"}
DAYS = {name: number for number, name in enumerate(text.DAYS)}
DAYS |= {f"{name}s": number for name, number in DAYS.items()}

CURRENCIES = {
    "$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR", "£": "GBP",
    "gbp": "GBP", "pound": "GBP", "pounds": "GBP", "chf": "CHF", "jpy": "JPY", "yen": "JPY",
}  # fmt: skip

EXCLUSIVE = """
    tab tabs / space spaces
    single / double / triple
    dark / light
    hourly / daily / weekly / fortnightly / monthly / quarterly / yearly annually
    morning mornings / afternoon afternoons / evening evenings / night nights
    camelcase / snake_case / pascalcase / kebab-case
    window / aisle
    metric / imperial
    debug / info / warning / error / critical
    main / master / trunk
    pdf / csv / html / xlsx / docx
    json / xml / yaml / toml
    npm / pnpm / yarn
    pip / poetry / conda / pipenv
    gradle / maven / bazel
    postgresql postgres / mysql / mariadb / sqlite / oracle
    react / vue / angular / svelte
    aws / azure / gcp
    vim / emacs / nano
    windows / linux / macos
    english / german / french / spanish / italian / chinese / japanese / portuguese
    first / second / third / fourth / fifth / sixth / last
    uuid / integer / string
    red / blue / green / yellow / black / white / orange / purple
    eur / usd / gbp / chf
    rest / graphql / grpc
    utc / cet / est / pst
"""
"""A line: values of one property, of which only one is said of a thing. Words between slashes mean the same."""

EXCLUDING = {
    word: (number, place)
    for number, line in enumerate(EXCLUSIVE.strip().splitlines())
    for place, words in enumerate(line.split("/"))
    for word in words.split()
}
"""Each value with the number of its property and which of its values it is."""
