"""Questions that ask for a length of time, an age, a date or an order, and questions that look alike but ask for something else.

All were written before the grammar of `alma.retrieval.named_time`. It was written on `SEEN` and `SEEN_ALIKE`; the others were first asked when it
was done. Each has the relation that is asked for and the events, in the order of the question.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.retrieval import named_time as grammar
from alma.retrieval.named_time import NamedEvents, named_events
from alma.text import telling_words
from alma.types.timeline import Relation

SEEN = [
    ("How long was it between the job interview and the offer?", "interval", ("the job interview", "the offer")),
    ("How many days were there between my dentist visit and the root canal?", "interval", ("my dentist visit", "the root canal")),
    (
        "How many weeks passed between the kitchen fire and the day the insurance paid?",
        "interval",
        ("the kitchen fire", "the insurance paid"),
    ),
    ("How much time passed between moving to Hamburg and meeting Lena?", "interval", ("moving to Hamburg", "meeting Lena")),
    (
        "How many days had passed since I planted the garlic when the first shoots came up?",
        "interval",
        ("I planted the garlic", "the first shoots came up"),
    ),
    (
        "How long had I been taking piano lessons when I bought the upright?",
        "interval",
        ("I been taking piano lessons", "I bought the upright"),
    ),
    ("How many months after the wedding did we buy the house?", "interval", ("the wedding", "we buy the house")),
    ("How many days before the marathon did I sprain my ankle?", "interval", ("the marathon", "I sprain my ankle")),
    ("How long after the release was the first rollback?", "interval", ("the release", "the first rollback")),
    ("How many days did it take from ordering the sofa to its delivery?", "interval", ("ordering the sofa", "its delivery")),
    (
        "How long did it take me to finish the thesis after I submitted the proposal?",
        "interval",
        ("me to finish the thesis", "I submitted the proposal"),
    ),
    (
        "What is the number of days between the flood and the repair of the roof?",
        "interval",
        ("the flood", "the repair of the roof"),
    ),
    ("Which came first, the rowing regatta or the chess tournament?", "order", ("the rowing regatta", "the chess tournament")),
    (
        "Which happened first: the migration of the database or the outage?",
        "order",
        ("the migration of the database", "the outage"),
    ),
    ("What did I do first, paint the fence or fix the gate?", "order", ("paint the fence", "fix the gate")),
    ("Did I adopt the cat before or after I moved?", "order", ("I adopt the cat", "I moved")),
    ("Did Ann visit Rome before she visited Athens?", "order", ("Ann visit Rome", "she visited Athens")),
    ("Was the audit before the merger?", "order", ("the audit", "the merger")),
    ("Who did I meet first, Mark or Sofia?", "order", ("Mark", "Sofia")),
    ("Which language did I learn first, Dutch or Polish?", "order", ("Dutch", "Polish")),
    (
        "In what order did the power cut, the burglary and the storm happen?",
        "order",
        ("the power cut", "the burglary", "the storm"),
    ),
    (
        "What is the order of these events: the christening, the move to Bern, and the promotion?",
        "order",
        ("the christening", "the move to Bern", "the promotion"),
    ),
    (
        "Put the trip to Oslo, the hackathon and the surgery in chronological order.",
        "order",
        ("the trip to Oslo", "the hackathon", "the surgery"),
    ),
    ("What is the order of the concerts I attended this year, from earliest to latest?", "order", ()),
    ("How long ago did I replace the brakes?", "age", ("I replace the brakes",)),
    ("How many days ago did I start the sourdough?", "age", ("I start the sourdough",)),
    ("How many weeks ago was the school reunion?", "age", ("the school reunion",)),
    ("How long has it been since I last saw the optician?", "age", ("I last saw the optician",)),
    ("How many days has it been since the server was patched?", "age", ("the server was patched",)),
    ("How much time has passed since we signed the lease?", "age", ("we signed the lease",)),
    ("When did I book the flight to Lima?", "date", ("I book the flight to Lima",)),
    ("When was the last time I watered the cactus?", "date", ("the last time I watered the cactus",)),
    ("On what date did Carla pass her exam?", "date", ("Carla pass her exam",)),
]

UNSEEN = [
    ("How long is the gap between the first vaccination and the booster?", "interval", ("the first vaccination", "the booster")),
    ("How many months lie between the purchase of the van and its sale?", "interval", ("the purchase of the van", "its sale")),
    ("How many days elapsed between the complaint and the refund?", "interval", ("the complaint", "the refund")),
    ("What is the time between my first and my second ultrasound?", "interval", ("my first", "my second ultrasound")),
    (
        "How many weeks had passed since I joined the choir when we sang in the cathedral?",
        "interval",
        ("I joined the choir", "we sang in the cathedral"),
    ),
    (
        "How many years had she been working at the bakery when it closed?",
        "interval",
        ("she been working at the bakery", "it closed"),
    ),
    ("How many weeks after the surgery did I start running again?", "interval", ("the surgery", "I start running again")),
    ("How long before the deadline did we send the draft?", "interval", ("the deadline", "we send the draft")),
    ("How many hours after the deploy did the alarm go off?", "interval", ("the deploy", "the alarm go off")),
    ("How long did it take from the first sketch to the finished mural?", "interval", ("the first sketch", "the finished mural")),
    (
        "How many days did it take for the parcel to arrive after I ordered it?",
        "interval",
        ("the parcel to arrive", "I ordered it"),
    ),
    ("How many days are between Tom's birthday party and the funeral?", "interval", ("Tom's birthday party", "the funeral")),
    ("Which event came first, the pottery class or the wine tasting?", "order", ("the pottery class", "the wine tasting")),
    (
        "What happened first, the leak in the cellar or the failure of the boiler?",
        "order",
        ("the leak in the cellar", "the failure of the boiler"),
    ),
    ("Which did I finish first, the scarf or the mittens?", "order", ("the scarf", "the mittens")),
    ("Did we launch the newsletter before or after the new logo?", "order", ("we launch the newsletter", "the new logo")),
    ("Did the fever start after I took the pills?", "order", ("the fever start", "I took the pills")),
    ("Was the trip to Kyoto before the one to Seoul?", "order", ("the trip to Kyoto", "the one to Seoul")),
    ("Who joined the team first, Priya or Jonas?", "order", ("Priya", "Jonas")),
    ("Which appliance did I buy first, the toaster or the kettle?", "order", ("the toaster", "the kettle")),
    ("In which order did I visit Ghent, Bruges and Antwerp?", "order", ("Ghent", "Bruges", "Antwerp")),
    (
        "What was the order of the following: the strike, the election and the blackout?",
        "order",
        ("the strike", "the election", "the blackout"),
    ),
    ("Sort these by date: the hike, the barbecue, the flat tyre.", "order", ("the hike", "the barbecue", "the flat tyre")),
    ("In what order did I read the three novels?", "order", ()),
    ("How long ago was the inspection of the lift?", "age", ("the inspection of the lift",)),
    ("How many months ago did we change the supplier?", "age", ("we change the supplier",)),
    ("How many years ago did Grandpa retire?", "age", ("Grandpa retire",)),
    ("How long is it since I called my aunt?", "age", ("I called my aunt",)),
    ("How many weeks have passed since the last backup?", "age", ("the last backup",)),
    ("How many days have gone by since I quit smoking?", "age", ("I quit smoking",)),
    ("When did we fix the leaking tap?", "date", ("we fix the leaking tap",)),
    ("When was the boiler serviced?", "date", ("the boiler serviced",)),
    ("What date did the contract end?", "date", ("the contract end",)),
]

SEEN_ALIKE = [
    "How long is the commute between Bonn and Cologne?",
    "How far is it between the hotel and the station?",
    "What is the difference between the old plan and the new one?",
    "How long have I been collecting stamps?",
    "How long does the sourdough have to rest before baking?",
    "How many days of leave do I have left?",
    "Which came with free shipping, the lamp or the rug?",
    "What is the first thing to do after a burglary?",
    "What did I order at the Thai restaurant?",
    "In order to deploy, which flags do I need?",
    "How did Melanie feel after the accident?",
    "What should I pack before the trip to Oslo?",
    "When should I prune the roses?",
    "When is the next release?",
    "Do I take the pills before or after meals?",
    "Which is better, the red one or the blue one?",
    "What was the name of my first teacher?",
    "How many people came between the opening and noon?",
    "Who won first prize, Ann or Tom?",
    "How long did the interview and the test take?",
    "What did I do a week ago?",
    "Where did I live before I moved to Bern?",
]

UNSEEN_ALIKE = [
    "How long is the cable between the router and the desk?",
    "How many differences are there between the two drafts?",
    "Who sat between Mara and Liam at dinner?",
    "How long have we been using Terraform?",
    "How long should the dough rise after kneading?",
    "How many weeks does the course last?",
    "Which one is cheaper, the train or the bus?",
    "What do I check first, the logs or the metrics?",
    "Which first names did we like for the baby?",
    "What was in the last order of the pharmacy?",
    "Is the door out of order again?",
    "What did Jean go through before meeting Maria?",
    "What did we decide after the incident?",
    "When do the shops open?",
    "When will the parcel arrive?",
    "Should I shower before or after the sauna?",
    "Do I prefer tea or coffee?",
    "Which first aid kit did I buy?",
    "How many tests ran between the two releases?",
    "How long did Alex marinate the ribs?",
    "Which book did I finish two weeks ago?",
    "Which bikes did I own before I bought the gravel bike?",
]

WORDS = (
    "how long many days ago between and since when did was had it take from to after before which who came first last order in put chronological the"
    " fair move I we 3 A B 'it' or is do"
)
PIECES = [*WORDS.split(), *" .,:;?’'\"-x"]


@pytest.mark.parametrize(("question", "relation", "events"), [*SEEN, *UNSEEN])
def test_a_question_names_events(question: str, relation: str, events: tuple[str, ...]) -> None:
    found = named_events(question)
    assert found is not None
    assert found.relation == relation
    assert [set(telling_words(event)) for event in found.events] == [set(telling_words(event)) for event in events]


@pytest.mark.parametrize("question", [*SEEN_ALIKE, *UNSEEN_ALIKE])
def test_a_question_that_looks_alike_names_none(question: str) -> None:
    assert named_events(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Sort the commits in chronological order",
        "What is the order of the house?",
        "Was the shop open before noon?",
        "Did we eat before 8 on Monday?",
        "How long was it between the fair",
        "Which came first, or",
        "How many days passed since ?",
        "How long ago did I move? " + "x" * grammar.LONGEST,
    ],
)
def test_what_names_too_little_names_no_events(question: str) -> None:
    assert named_events(question) is None


@pytest.mark.parametrize(
    ("question", "events"),
    [
        ("How long was it between buying salt and pepper and buying the mill?", ("buying salt and pepper", "buying the mill")),
        ("How long was it between 'War and Peace' and the course?", ("'War and Peace'", "the course")),
        (
            "How many days passed between my trip to the zoo and the day I saw Ann and Tom?",
            ("my trip to the zoo", "I saw Ann and Tom"),
        ),
        ("How long was it between bread and butter?", ("bread", "butter")),
    ],
)
def test_events_are_parted_where_the_second_begins(question: str, events: tuple[str, ...]) -> None:
    assert named_events(question) == NamedEvents(Relation.INTERVAL, events)


def test_a_long_list_is_cut() -> None:
    found = named_events("In what order did " + ", ".join(f"event {number}" for number in range(20)) + " happen?")
    assert found is not None
    assert found.events == tuple(f"event {number}" for number in range(grammar.MOST_EVENTS))


@given(
    st.lists(st.sampled_from(PIECES), max_size=24).map(" ".join)
    | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
    | st.text()
)
def test_any_text_is_read_and_every_event_says_something(text: str) -> None:
    found = named_events(text)
    assert found is None or all(any(character.isalnum() for character in event) for event in found.events)


@pytest.mark.parametrize(
    ("question", "relation", "events"),
    [
        ("Between selling the car and the move, how much time was there?", "interval", ("selling the car", "the move")),
        (
            "From the day we saw the house until we moved in, how many days went by?",
            "interval",
            ("we saw the house", "we moved in"),
        ),
        ("How many days earlier did I adopt the cat than move?", "interval", ("I adopt the cat", "move")),
        ("How soon after the move was the sofa delivered?", "interval", ("the move", "the sofa delivered")),
        ("How long was I waiting between the interview and the offer?", "interval", ("the interview", "the offer")),
        ("Which of the two was more recent, the fair or the move?", "order", ("the fair", "the move")),
        ("Was it after the offer that I ran the marathon?", "order", ("the offer", "I ran the marathon")),
        ("Had I sold the car when I had the interview?", "order", ("I sold the car", "I had the interview")),
        ("Do you remember when I sold the car?", "date", ("I sold the car",)),
        ("In what month did I start the class?", "date", ("I start the class",)),
        ("Since when do we have the cat?", "age", ("we have the cat",)),
    ],
)
def test_more_forms_of_questions_are_read(question: str, relation: str, events: tuple[str, ...]) -> None:
    assert named_events(question) == NamedEvents(Relation(relation), events)


@pytest.mark.parametrize(
    "question",
    [
        "How soon after meals should I brush my teeth?",
        "Between us, how long should it take?",
        "From Ghent to Lisbon, how long does it take by car?",
        "Do you know when the shop opens?",
        "In what month do the swallows return?",
    ],
)
def test_more_questions_that_look_alike_name_none(question: str) -> None:
    assert named_events(question) is None
