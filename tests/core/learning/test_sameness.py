"""How probable it is that two strategies are one way."""

from collections.abc import Sequence

import numpy as np
import pytest

from alma.learning.alike import MOST_KNOWN, MOST_OF_TWO, AlikeStrategies, same_weights
from alma.learning.pooling import SAME_WAY, Cells, outcomes_of
from alma.learning.sameness import BY_VECTORS, by_words
from alma.learning.scale import OWN
from alma.learning.ways import SUBJECT, SUREST, Outcomes, Ways, log_odds, subjects
from facade import OpenStore


def vectors_at(cosine: float) -> np.ndarray:
    return np.array([[1, 0], [cosine, np.sqrt(1 - cosine**2)]], np.float32)


OTHER_WORDS = "canary on a small share first", "widen step by step after watching one machine"


def all_at(cosine: float, count: int) -> np.ndarray:
    cosines = np.full((count, count), cosine)
    np.fill_diagonal(cosines, 1.0)
    return np.linalg.cholesky(cosines).astype(np.float32)


def one_way(cosines: np.ndarray, outcomes: Sequence[tuple[float, float]] = ()) -> np.ndarray:
    """Which strategies are one way by cosines, beside successes and trials of each; without any, none was tried."""
    count = len(cosines)
    successes, trials = np.reshape(outcomes or [(0.0, 0.0)] * count, (count, 2)).T
    came = Outcomes(successes, trials, np.zeros((count, count)))
    return Ways.of(log_odds(cosines, np.zeros((count, count))), *[np.eye(count, dtype=bool)] * 2).parted(came)[0]


def untried(known: AlikeStrategies, numbers: Sequence[int], texts: Sequence[str], vectors: np.ndarray) -> np.ndarray:
    """The probabilities that strategies of which nothing came yet are one way."""
    return known.likeness(numbers, texts, vectors).weights(Outcomes.none(len(texts)))


@pytest.mark.parametrize(("cosine", "is_one"), [(0.1, False), (0.4, False), (0.8, True)])
def test_strategies_in_other_words_are_one_way_where_vectors_are_very_near(cosine: float, is_one: bool) -> None:
    texts = [*OTHER_WORDS, "let few customers try before everybody gets new code"]
    weights = same_weights(texts, all_at(cosine, 3))[np.triu_indices(3, 1)]
    assert (weights == BY_VECTORS).all() if is_one else (weights <= MOST_OF_TWO).all()


def test_of_alternatives_only_those_are_one_way_that_are_nearer_than_the_others() -> None:
    cosines = np.full((9, 9), 0.35)
    for first in (0, 3, 6):
        cosines[first : first + 3, first : first + 3] = 0.7
    np.fill_diagonal(cosines, 1.0)

    assert (one_way(cosines) == np.kron(np.eye(3), np.ones((3, 3)))).all()


def test_wordings_of_one_strategy_alone_are_one_way() -> None:
    cosines = np.full((6, 6), 0.58)
    np.fill_diagonal(cosines, 1.0)
    assert one_way(cosines).all()


def test_subjects_are_those_of_average_linkage() -> None:
    chance = np.random.default_rng(7)
    for count in (0, 1, 2, 3, 40, 90):
        vectors = chance.normal(size=(count, 12)) + chance.normal(size=12)
        cosines = vectors @ vectors.T / np.outer(*[np.linalg.norm(vectors, axis=1)] * 2)
        groups = {number: [number] for number in range(count)}
        while len(groups) > 1:
            means = {
                (one, other): cosines[np.ix_(groups[one], groups[other])].mean()
                for one in groups
                for other in groups
                if one < other
            }
            (one, other), best = max(means.items(), key=lambda item: item[1])
            if best < SUBJECT:
                break
            groups[one] += groups.pop(other)
        expected = {member: number for number, members in groups.items() for member in members}
        assert subjects(cosines).tolist() == [expected[number] for number in range(count)]


def test_outcomes_part_what_words_and_vectors_hardly_join() -> None:
    cosines = np.full((4, 4), 0.58)
    np.fill_diagonal(cosines, 1.0)
    pairs = np.kron(np.eye(2), np.ones((2, 2)))
    near_in_pairs = np.where(pairs == 1.0, np.maximum(cosines, 0.7), cosines)

    assert one_way(near_in_pairs).all()
    assert one_way(near_in_pairs, [(4, 5), (3, 4), (3, 5), (4, 4)]).all()
    assert (one_way(near_in_pairs, [(9, 10), (9, 10), (1, 10), (1, 10)]) == pairs).all()


@pytest.mark.parametrize(
    ("second", "expected"),
    [((0, 0), 2 * np.log(2.5)), ((1, 1), -2 * np.log(1.6)), ((1, 0), np.log(2.5) - np.log(1.6))],
)
def test_outcomes_of_one_task_say_whether_two_ways_were_tried(second: tuple[float, float], expected: float) -> None:
    """The first strategy worked on both tasks; the second one, on the same, or on others, as is given."""
    strategies, won = np.array([0, 0, 1, 1]), np.array([1.0, 1.0, *second])
    on_the_same, on_others = (
        outcomes_of(Cells(strategies, np.array(tasks), won, np.ones(4), np.ones(4)), 2).apart[0, 1]
        for tasks in ([4, 7, 4, 7], [4, 7, 5, 8])
    )
    assert on_the_same == pytest.approx(expected)
    assert on_others == 0


def test_runs_of_several_agents_and_many_wordings_on_one_task_say_no_more_than_they_are_worth() -> None:
    """Each of n agents failed once with the one, and succeeded once with the other: as if one agent had done so n times."""
    by_agents = outcomes_of(Cells(np.array([0, 1] * 7), np.zeros(14, int), np.array([0.0, 1.0] * 7), np.ones(14), np.ones(14)), 2)
    by_one = outcomes_of(Cells(np.array([0, 1]), np.zeros(2, int), np.array([0.0, 7.0]), np.full(2, 7.0), np.ones(2)), 2)
    assert by_agents.apart[0, 1] == pytest.approx(by_one.apart[0, 1])
    assert 0 < by_one.apart[0, 1] < 10
    wordings = outcomes_of(Cells(np.arange(12), np.zeros(12, int), np.repeat([0.0, 1.0], 6), np.ones(12), np.ones(12)), 12)
    assert 0 < wordings.apart[:6, 6:].sum() < 10


def test_outcomes_of_one_task_part_a_way() -> None:
    odds = log_odds(np.array([[1.0, 0.8], [0.8, 1.0]]), np.array([[np.inf, 2.0], [2.0, np.inf]]))
    ways = Ways.of(odds, *[np.eye(2, dtype=bool)] * 2)
    apart = np.array([[0.0, 2.5], [2.5, 0.0]])
    for evidence, is_one in ((0 * apart, True), (apart, False)):
        assert ways.parted(Outcomes(np.array([1.0, 0.0]), np.ones(2), evidence))[0][0, 1] == is_one


def weights_beside(texts: Sequence[str], outcomes: Sequence[tuple[float, float]]) -> np.ndarray:
    """The probabilities beside successes and trials of each text, on tasks of their own, where vectors say nothing."""
    known = AlikeStrategies(OWN).likeness(range(len(texts)), texts, all_at(0.95, len(texts)))
    return known.weights(Outcomes(*np.array(outcomes, float).T, np.zeros((len(texts),) * 2)))


def test_a_row_is_of_one_way_and_no_outcome_is_in_two() -> None:
    """The second one is the first, and the third, in other words; but the third contradicts the first."""
    texts = ["Clear the cache before the build", "Wipe the build cache first", "Clear the cache after the build"]
    is_one = weights_beside(texts, [(6, 6), (1, 2), (0, 6)]) >= SAME_WAY
    assert (is_one @ is_one == is_one).all()
    assert not is_one[0, 2]


def test_equal_words_are_one_way_whatever_came_of_them_and_more_words_until_much_speaks_against_it() -> None:
    equal, longer = (
        ["deploy with a canary", "deploy with canary"],
        ["restart the service", "restart the service after the deploy"],
    )
    assert weights_beside(equal, [(50, 50), (0, 50)])[0, 1] == 1
    assert weights_beside(longer, [(2, 2), (0, 2)])[0, 1] == 1
    assert weights_beside(longer, [(50, 50), (0, 50)])[0, 1] < SAME_WAY


def merged_by(surplus: float) -> Ways:
    """Two strategies whose log-odds exceed what it takes by this much."""
    one, other, both = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.array([[-1, 0], [0, -1]])
    return Ways(np.full((2, 2), surplus + 1.1), both, one, other, np.ones((1, 1)), np.array([surplus]))


@pytest.mark.parametrize(("lost", "is_one"), [(2, True), (3, False)])
def test_two_rates_have_to_be_likelier_than_one_by_what_the_words_say_and_twice(lost: int, is_one: bool) -> None:
    """Three successes beside two failures are likelier by 5 if they are of two rates, beside three by 8.75."""
    came = Outcomes(np.array([3.0, 0.0]), np.array([3.0, lost]), np.zeros((2, 2)))
    found, odds = merged_by(np.log(7 / 2)).parted(came)
    assert found[0, 1] == is_one
    assert odds[0, 1] == pytest.approx(np.log(7 / 2) + 1.1 - np.log({2: 5, 3: 8.75}[lost] / 2))


def test_words_and_vectors_alone_are_never_surer_than_so() -> None:
    cosines = np.full((2, 2), 0.97)
    ways = Ways.of(log_odds(cosines, np.full((2, 2), 5.0)), *[np.eye(2, dtype=bool)] * 2)
    assert ways.surplus.tolist() == [SUREST]


def test_what_rests_on_a_merge_that_fell_falls_with_it() -> None:
    """The third one did like the first two together, but these are two ways: it is not known of which it is."""
    cosines = np.array([[1.0, 0.85, 0.75], [0.85, 1.0, 0.75], [0.75, 0.75, 1.0]])
    assert one_way(cosines).all()
    assert (one_way(cosines, [(9, 9), (0, 9), (5, 10)]) == np.eye(3)).all()


def test_luck_with_single_wordings_parts_no_way() -> None:
    """Ten wordings of one way, of which five happened to work: parting them by what came of them would make two rules of luck."""
    cosines = np.full((10, 10), 0.66)
    np.fill_diagonal(cosines, 1.0)
    assert one_way(cosines, [(1, 1), (0, 1)] * 5).all()


def test_strategies_of_another_subject_change_nothing() -> None:
    chance = np.random.default_rng(3)
    here = np.eye(40)[:6] + 0.9 * np.eye(40)[6]
    there = np.eye(40)[20:30] + 0.05 * chance.normal(size=(10, 40))
    vectors = np.concatenate([here, there]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [f"{chr(97 + number) * 4} step {chr(107 + number) * 5}" for number in range(16)]

    assert np.array_equal(same_weights(texts, vectors)[:6, :6], same_weights(texts[:6], vectors[:6]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("increase the timeout", "decrease the timeout"),
        ("retry three times", "retry five times"),
        ("cache the results", "do not cache the results"),
        ("migrate before the deploy", "deploy before the migration"),
    ],
)
def test_what_clearly_differs_is_another_way_however_near(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.97)).tolist() == [[1, 0], [0, 1]]


def test_what_differs_in_the_one_place_that_matters_is_another_way() -> None:
    one, other = "ask the customer for the booking code", "ask the customer for the passport code"
    assert same_weights([one, other], vectors_at(0.9))[0, 1] <= MOST_OF_TWO


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stop and start the process while tailing the log", "Bounce it, then keep an eye on the log output"),
        ("Have a scripted CI job carry out the work without manual steps", "Write a script and let the pipeline execute it"),
        ("Two people type the documented steps together", "follow the runbook by hand with a colleague beside you"),
        ("Relaunch the process and monitor the log", "Stop and start the process while tailing the log"),
    ],
)
def test_opposites_denials_and_numbers_of_texts_in_other_words_say_nothing(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.99))[0, 1] >= MOST_OF_TWO


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retry failing calls 3 times", "attempt it again up to 5 times in all before an alert"),
        ("increase the timeout so that slow calls of partners pass", "cut the timeout to make hanging requests fail early"),
        ("run the whole job without a cache on every worker", "keep what was computed in a cache for later requests"),
        ("target the new python3 runtime for everything", "stay on what python2 offers until the vendor is ready"),
    ],
)
def test_what_is_said_of_the_same_word_parts_texts_in_other_words(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.9))[0, 1] == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("add sleep(5) before the assertion", "added a hard-coded 5s delay before the assert"),
        ("backfill in batches of 10,000 rows", "batched backfill, 10k rows per batch"),
        ("Raise the memory limit to twice the p99", "set the memory limit to double the p99"),
        ("rewrite the subquery as a join", "rewrote the query to use a join instead of the subquery"),
        ("skip the flaky test", "disable the flaky test"),
        ("wait until the network is idle, then assert", "Assert only after waiting for networkidle"),
        ("stub out the HTTP client", "mocked the http client in the unit tests"),
        ("truncate the open log, `logrotate -f`", "truncate the open logs, then logrotate --force"),
    ],
)
def test_what_only_sounds_like_a_contradiction_parts_nothing(one: str, other: str) -> None:
    assert np.isfinite(by_words(one, other, 0.7))


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ('refund(amount, method="card", order_id)', 'refund(amount, method="credit", order_id)', False),
        ('track(carrier="dhl", number="JD0146")', 'track(carrier="dhl", number="JD9999")', True),
        ("pd.read_csv(path)", "pandas.read_csv('customers.csv')", True),
        ("pd.read_csv(path)", "pd.read_csv(path, encoding='cp1252')", False),
        ("time.sleep(5)", "time.sleep(60)", False),
        ("staging.deploy(app)", "production.deploy(app)", False),
        ("stripe.charge(id)", "paypal.charge(id)", False),
        ('execute("DROP TABLE t1")', 'execute("SELECT * FROM t1")', False),
        ('run("kubectl delete pod web-1")', 'run("kubectl get pod web-1")', False),
        ('read_csv("a.csv", encoding="utf-8")', 'read_csv("b.csv", encoding="cp1252")', False),
        ('set_limit("512Mi")', 'set_limit("2Gi")', False),
        ('set_limit(memory="512Mi")', 'set_limit(memory="2Gi")', False),
        ('update_event(id, start="09:30")', 'update_event(id, start="14:30")', False),
        ('refund(order="88-1290", reason="goodwill")', 'refund(order="71004", reason="goodwill")', True),
        ('open_claim("6675")', 'open_claim("JD0146")', True),
        ('send_email("a.brandt@uni.example")', 'send_email("press@diocese.example")', True),
        ("find_by_mail(mail)", "find_by_mail(order)", False),
        ("find_order, then refund_order", "find_order, then send_mail, then refund_order", False),
        ("find_order(id) → refund_order(id)", "find_order(id) -> refund_order(id)", True),
        ("call get_user then call update_user", "get_user → update_user", True),
        ("used find_order(id), then refund(id)", "find_order(id) -> refund(id)", True),
        ("call get_user", "get_user", True),
        ("call get_user then update_user", "call update_user then get_user", False),
        ("call get_user then update_user", "call get_user", False),
        ('refund(order="ORD-10022")', 'refund(order="ORD-10031")', True),
        ('set_timeout("5s")', 'set_timeout("60s")', False),
        ('hashlib.new("md5")', 'hashlib.new("sha256")', False),
        ('decode("utf-8")', 'decode("utf-16")', False),
        ('deploy(version="1.2")', 'deploy(version="2.0")', False),
        ('pick(region="us-east-1")', 'pick(region="eu-west-2")', False),
        ('refund(share="50%")', 'refund(share="100%")', False),
    ],
)
def test_calls_are_one_way_with_the_same_values_in_the_same_order(one: str, other: str, is_one: bool) -> None:
    assert same_weights([one, other], vectors_at(0.99))[0, 1] == float(is_one)


def test_other_ways_change_nothing_for_calls_that_differ_in_a_value() -> None:
    calls = ['refund(amount, method="card")', 'refund(amount, method="credit")']
    others = [f'{name}_{name}(to="{name}")' for name in ("mail", "search", "track", "close")]
    vectors = np.concatenate([vectors_at(0.97), np.zeros((2, 4))], axis=1)
    vectors = np.concatenate([vectors, np.eye(6)[2:]]).astype(np.float32)
    assert same_weights([*calls, *others], vectors)[0, 1] == 0


def test_the_same_words_are_the_same_way() -> None:
    assert same_weights(["Blue-green deployment", "blue-green deployment"], vectors_at(0.1)).tolist() == [[1, 1], [1, 1]]


def test_without_calibration_vectors_alone_say_nothing() -> None:
    texts = ["canary on a small share first", "widen step by step after watching one machine"]
    assert same_weights(texts, vectors_at(0.7), scale=None)[0, 1] == 0


def test_what_was_computed_before_stays_what_it_would_be_anew() -> None:
    texts = [f"{verb} the {thing}" for verb in ("drain", "inspect", "copy") for thing in ("queue", "index", "archive")]
    vectors = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = same_weights(texts, vectors)
    known = AlikeStrategies(OWN)
    untried(known, range(6), texts[:6], vectors[:6])
    assert np.array_equal(untried(known, range(9), texts, vectors), whole)
    assert np.array_equal(whole, whole.T)


def test_a_contradiction_parts_what_vectors_join() -> None:
    cosines = np.full((3, 3), 0.9)
    np.fill_diagonal(cosines, 1.0)
    vectors = np.linalg.cholesky(cosines).astype(np.float32)
    alike = ["bounce it and read the log", "relaunch the process while watching", "cycle the service under observation"]
    opposite = [
        "increase the timeout of the whole call",
        "give the call more room to answer",
        "decrease the timeout of the whole call",
    ]

    assert same_weights(alike, vectors)[0, 2] == BY_VECTORS
    assert same_weights(opposite, vectors)[0, 2] < SAME_WAY


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("blue-green deployment", "canary deployment"),
        ("book_reservation", "update_reservation"),
        ("UNION", "UNION ALL"),
        ("kubectl get po -n web", "kubectl get svc -n web"),
        ("npm i lodash", "npm ci lodash"),
        ("npm i", "npm init"),
        ("use double quotes", "use two quotes"),
    ],
)
def test_names_that_share_a_word_are_two_ways(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.7))[0, 1] <= MOST_OF_TWO


def test_strategies_beyond_those_that_are_compared_are_never_one_in_other_words() -> None:
    texts = ["bounce it and read the log", "relaunch the process while watching", "cycle the service under observation"]
    near = untried(AlikeStrategies(OWN), [0, 1, 2], texts, all_at(0.9, 3))
    late = untried(AlikeStrategies(OWN), [MOST_KNOWN, MOST_KNOWN + 1, MOST_KNOWN + 2], texts, all_at(0.9, 3))
    assert (near[0, 1], late[0, 1]) == (BY_VECTORS, 0)


def test_what_is_remembered_of_pairs_groups_them_as_at_first() -> None:
    cosines = np.full((3, 3), 0.8)
    np.fill_diagonal(cosines, 1.0)
    texts = [*OTHER_WORDS, "let few customers try before everybody gets new code"]
    known = AlikeStrategies(OWN)
    first, again = (untried(known, range(3), texts, np.linalg.cholesky(cosines).astype(np.float32)) for _ in range(2))
    assert first[1, 2] == BY_VECTORS
    assert np.array_equal(first, again)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git push", "git push --force"),
        ("git push --force", "git push --force-with-lease"),
        ("pytest -x", "pytest -n auto"),
        ("git commit -a", "git commit --amend"),
        ("pip install -U flask", "pip install --user flask"),
        ("git branch -D old", "git branch --delete old"),
        ("cp old.conf new.conf", "cp new.conf old.conf"),
        ("skip the tests", "do not skip the tests"),
        ("omit the header", "never omit the header"),
        ("deploy on Friday", "deploy on Monday"),
        ("use double quotes", "use single quotes"),
        ("double the timeout", "triple the timeout"),
        ("delete branches older than 90 days", "delete branches younger than 90 days"),
        ("round up to the next cent", "round downwards to the next cent"),
        ("offer a 15% voucher", "offer a 15 EUR voucher"),
        ("deploy to staging", "deploy to prod"),
        ("replace NaN with 0", "replace 0 with NaN"),
        ("train on 2023 and test on 2024", "train on 2024 and test on 2023"),
        ("set retries=3 and timeout=10", "set retries=10 and timeout=3"),
        ("give 5 coupons to 10 customers", "give 10 coupons to 5 customers"),
        ("read the csv with sep=';'", "read the csv with sep='\\t'"),
        ("set CACHE_TTL", "unset CACHE_TTL"),
        ("deploy to eu-west-1", "deploy to eu-south-1"),
        ("run the migrations while switching traffic", "run the migrations without switching traffic"),
        ("offer a full refund", "offer a partial refund"),
        ("reply in French", "answer in English"),
        ("call in the morning", "call in the afternoon"),
        ("sed s/old/new/ conf", "sed s/new/old/ conf"),
        ("git diff main..topic", "git diff topic..main"),
        ("git push origin main:topic", "git push origin topic:main"),
        ("docker run -p 80:8080 web", "docker run -p 8080:80 web"),
        ("scp host:conf .", "scp conf host:."),
        ("mv . old", "mv old ."),
        ("pytest -x", "python -m pytest"),
        ("pip install flask", "python -m pip uninstall flask"),
        ("docker-compose up -d", "docker compose down -d"),
        ("curl -X POST -d @body.json api/orders", "curl -X PUT -d @body.json api/orders"),
        ("grep -rn TODO src", "grep --recursive --files-with-matches TODO src"),
        ("edit cart.py: return None -> return 0", "edit cart.py: return None -> return 0; edit totals.py: sum() -> sum(x, 0)"),
    ],
)
def test_other_options_and_others_of_a_kind_are_two_ways(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.99))[0, 1] == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git push -f", "git push --force"),
        ("terraform apply -target=module.db", "terraform apply --target=module.db"),
        ("docker system prune -af", "docker system prune --all --force"),
        ("npm i lodash", "npm install lodash"),
        ("npm install -D jest", "npm i --save-dev jest"),
        ("pytest", "python -m pytest"),
        ("pytest -x tests/unit", "python3 -m pytest tests/unit -x"),
        ("pip install -r dev.txt", "python -m pip install --requirement dev.txt"),
        ("docker-compose up -d", "docker compose up --detach"),
        ("kubectl get po -n web", "kubectl get pods -n web"),
        ("kubectl rollout restart deploy/api", "kubectl rollout restart deployment/api"),
        ("grep -rn TODO src", "grep --recursive --line-number TODO src"),
        ("sed 's/old/new/' conf", "sed s/old/new/ conf"),
    ],
)
def test_a_command_with_the_same_options_is_the_same_way(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.4))[0, 1] == 1


def test_a_command_and_a_sentence_that_names_it_are_one_way() -> None:
    one, other = "Restart the deployment with kubectl rollout restart", "kubectl rollout restart deployment/payments-worker"
    assert same_weights([one, other], vectors_at(0.8))[0, 1] == BY_VECTORS


def test_other_code_parts_sentences_that_sound_alike() -> None:
    one, other = "rebased with `git rebase origin/main`, then pushed", "merged with `git merge origin/main`, then pushed"
    assert same_weights([one, other], vectors_at(0.85))[0, 1] == 0


def test_no_paraphrase_joins_a_way_and_its_denial() -> None:
    texts = ["delete all incomplete rows", "do not delete all incomplete rows", "drop the rows with missing values"]
    weights = same_weights(texts, all_at(0.9, 3))
    assert weights[0, 1] == 0
    assert weights[0, 2] < SAME_WAY or weights[1, 2] < SAME_WAY


def test_what_is_asked_about_changes_nothing_among_what_was_tried(open_store: OpenStore) -> None:
    alma = open_store()
    for way in ("blue-green deployment", "use a blue-green deployment", "rolling update"):
        alma.learn("dev", f"Deploy {way}", "success", way, task_type="deployment")
    before = alma.strategies("Deploy", "dev", task_type="deployment").rows

    sure = alma.assess("a deployment, blue and green", context="Deploy", agent="dev", task_type="deployment")

    assert sure.trials <= 3
    assert alma.strategies("Deploy", "dev", task_type="deployment").rows == before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("deploy unless it is Friday", "deploy on Friday"),
        ("retry unless the error is a 404", "retry if the error is a 404"),
        ("merge unless CI is red", "merge when CI is red"),
        ("refund unless the order has shipped", "refund when the order has shipped"),
        ("delete all logs except the newest", "delete the newest logs"),
        ("run the migration except on production", "run the migration on production"),
        ("restart all pods but the leader", "restart the leader pod"),
        ("export every table apart from the audit log", "export every table of the audit log"),
    ],
)
def test_what_is_excepted_is_not_what_is_done(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.99))[0, 1] == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("deploy unless it is Friday", "deploy except on Fridays"),
        ("restart all pods except the leader", "restart all pods but not the leader"),
        ("block every bot but googlebot", "block every bot except googlebot"),
        ("delete all logs but the newest", "delete all logs apart from the newest"),
        ("unless the order has shipped, refund", "refund unless the order has shipped"),
    ],
)
def test_the_same_exception_in_other_words_is_the_same_way(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.9))[0, 1] == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("migrate away from redis", "migrate to redis"),
        ("move off kubernetes", "move to kubernetes"),
        ("move the job out of cron", "move the job into cron"),
        ("translate the mail from German", "translate the mail into German"),
        ("export the orders from the CRM", "export the orders to the CRM"),
        ("raise the limit by 10%", "raise the limit to 10%"),
        ("scale up by 3 replicas", "scale up to 3 replicas"),
        ("change the port from 80 to 8080", "change the port from 8080 to 80"),
        ("escalate within 4 hours", "escalate after 4 hours"),
        ("poll every 5 minutes", "poll after 5 minutes"),
        ("restart the worker during the backup", "restart the worker after the backup"),
        ("run the migrations before switching traffic", "run the migrations while switching traffic"),
    ],
)
def test_another_relation_to_the_same_thing_is_another_way(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.99))[0, 1] == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("migrate away from redis", "migrate off redis"),
        ("move the job into cron", "move the job over to cron"),
        ("migrate from mysql to postgres", "migrate to postgres from mysql"),
        ("scale up to 3 replicas", "scale to three replicas"),
        ("retry 3 times", "retry up to 3 times"),
        ("wait for 30 seconds, then retry", "wait 30 seconds before retrying"),
        ("deploy once the tests have passed", "deploy after the tests passed"),
        ("wait until the pod is ready, then send traffic", "wait and send traffic after the pod is ready"),
        ("delete the cache once the deploy is done", "clear the cache after the deploy"),
        ("sudo apt-get install -y jq", "sudo apt install -y jq"),
        ("copy the file to every region", "copy the file to the regions"),
        ("raise the limit to 10%", "raised the limit to 10 percent"),
        ("retry thrice", "retry 3 times"),
        ("deploy to prod", "deploy to production"),
        ("offer 15 EUR", "offer 15 euros"),
        ("wait a minute", "wait 60 seconds"),
        ("wrap it in double quotes", "wrap in double-quotes"),
    ],
)
def test_the_same_relation_in_other_words_is_the_same_way(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.95))[0, 1] == 1


def test_another_way_is_not_joined_because_all_of_a_list_are_near() -> None:
    texts = [
        "exclude weekends from the forecast",
        "leave the weekends out of the forecast",
        "omit weekends from the forecast",
        "exclude holidays from the forecast",
    ]
    cosines = np.full((4, 4), 0.9)
    cosines[3, :3] = cosines[:3, 3] = 0.8
    np.fill_diagonal(cosines, 1.0)
    weights = same_weights(texts, np.linalg.cholesky(cosines).astype(np.float32))
    assert (weights[:3, :3] >= BY_VECTORS).all()
    assert weights[3, :3].max() <= MOST_OF_TWO


def test_near_copies_that_name_another_thing_each_are_ways_of_their_own() -> None:
    texts = [f"ask the customer to confirm the new {thing}" for thing in ("address", "price", "appointment", "contract")]
    assert same_weights(texts, all_at(0.9, 4))[np.triu_indices(4, 1)].max() <= MOST_OF_TWO


def test_near_copies_with_a_synonym_each_are_one_way() -> None:
    texts = [f"{verb} the customer's new delivery address" for verb in ("check", "verify", "confirm", "validate")]
    assert (same_weights(texts, all_at(0.9, 4)) >= BY_VECTORS).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vitest -u", "vitest -u after looking at the diff"),
        ("systemctl restart nginx", "ran nginx -t, corrected the config and then systemctl restart nginx"),
        ("certbot renew --cert-name shop", "fixed the A record and then `certbot renew --cert-name shop`"),
        ("DELETE FROM sessions WHERE age > 90", "DELETE FROM sessions WHERE age > 90 in batches of 10k"),
        ("kubectl rollout restart deployment/web", "kubectl rollout undo deployment/web"),
        ("systemctl restart nginx", "systemctl reload nginx"),
        ("git push --tags origin", "git fetch --tags origin"),
        ("SELECT id FROM users WHERE active = 1", "SELECT id FROM users WHERE active = 0"),
    ],
)
def test_to_do_more_or_something_else_is_another_way(one: str, other: str) -> None:
    assert (by_words(one, other, 0.95), by_words(other, one, 0.95)) == (-np.inf, -np.inf)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("npm ci --quiet", "run `npm ci --quiet` to install the packages"),
        ("systemctl restart nginx", "systemctl restart postgresql"),
        ("kubectl delete pod web -n prod", "kubectl delete pod db -n prod"),
        ("service nginx restart", "service apache restart"),
        ("docker logs web --tail 50", "docker logs api --tail 50"),
        ("kubectl rollout restart deployment/web", "restart the deployment with kubectl rollout restart deployment/web"),
        ("git push --force", "force-pushed with git push --force"),
        ("draw a pie chart", "draw a bar chart"),
    ],
)
def test_a_reason_or_another_thing_is_no_other_way_by_words_alone(one: str, other: str) -> None:
    assert by_words(one, other, 0.95) > -np.inf
