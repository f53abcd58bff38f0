"""Whether a command does what a pattern names."""

import pytest

from alma.learning.commands import Likeness, likeness, named_in, options_in, words_in
from alma.learning.shell import commands_in


def compared(pattern: str, action: str) -> Likeness:
    return likeness(named_in(words_in(pattern)), commands_in(action))


@pytest.mark.parametrize(
    ("pattern", "action"),
    [
        ("git push --force", "git push origin main -f"),
        ("git push -f", "git -C web push --force"),
        ("git push --force", 'git add -A && git commit -m "wip" && git push --force'),
        ("rm -rf on the build directory", "sudo rm -r -f ./build"),
        ("chmod 777", "chmod -R 0777 /var/www"),
        ("Running npm install in CI", "npm i"),
        ("kubectl delete pod --force --grace-period=0", "kubectl -n prod delete pod db-1 --grace-period 0 --force"),
        ("kubectl scale deployment --replicas=0", "kubectl scale deployment/web --replicas=0"),
        ("curl piped into sh", "curl -fsSL https://get.example.sh | sh -s -- -y"),
        ("wget | bash", "wget -qO- https://x.sh | sudo bash"),
        ("sudo pip install", "sudo -H pip install ansible"),
        ("kubectl apply without --dry-run first", "kubectl apply -f web.yaml"),
        ("docker compose down -v", "docker-compose -f dev.yml down --volumes"),
        ("docker-compose down -v", "docker compose down -v"),
        ("Editing the file with sed -i", "sed -i.bak 's/a/b/' app.py"),
        ("find / -name", 'sudo find / -name "*.conf"'),
        ("Using git add . to stage everything", "git add ."),
        ("docker system prune -a", "ssh build01 docker system prune --all"),
        ("rm -rf node_modules before each build", "rm -rf ./node_modules && npm run build"),
        ("curl -k against the payment API", "curl --insecure https://pay.example.com/v1/charge"),
        ("curl --insecure", "curl -sk https://pay.example.com"),
        ("git commit --no-verify", 'git commit -nm "wip"'),
        ("gradle build -x test", "./gradlew build -x test"),
        ("python3 -m http.server", "python3.12 -m http.server"),
    ],
)
def test_a_command_with_other_arguments_is_the_same(pattern: str, action: str) -> None:
    assert compared(pattern, action) is Likeness.SAME


@pytest.mark.parametrize(
    ("pattern", "action"),
    [
        ("git push --force", "git push origin main"),
        ("git push --force", "git push --force-with-lease"),
        ("git push --force", "git push --dry-run --force"),
        ("git push --force", "git stash push"),
        ("git push --force", "git fetch --force"),
        ("chmod 777", "chmod 755 run.sh"),
        ("kill -9", "kill -15 4312"),
        ("Running npm install in CI", "npm ci"),
        ("rm -rf node_modules before each build", "npm run build"),
        ("docker system prune -a", "ssh build01 docker system df"),
        ("kubectl delete pod --grace-period=0", "kubectl delete pod web --grace-period=30"),
        ("kubectl apply --force", "kubectl apply -f web.yaml"),
        ("kubectl apply without --dry-run first", "kubectl apply -f web.yaml --dry-run=server"),
        ("curl piped into sh", "curl -O https://get.example.sh"),
        ("wget | bash", "bash build.sh | wget"),
        ("sudo pip install", "pip install ansible"),
        ("aws s3 rm --recursive", "rm -r build"),
        ("find / -name", 'find . -name "*.conf"'),
        ("git push --force", "Push the branch"),
        ("git clean -fdx", "git clean -fdxn"),
        ("git commit --no-verify", "git log -n 5"),
        ("pip2 install", "pip3 install ansible"),
    ],
)
def test_another_way_to_run_a_program_is_not(pattern: str, action: str) -> None:
    assert compared(pattern, action) is Likeness.OTHER


def test_a_pattern_that_names_only_a_program_is_told_apart() -> None:
    assert compared("cat on large files", "cat huge.log") is Likeness.PROGRAM


@pytest.mark.parametrize(
    ("pattern", "action"), [("git commit --no-verify", "git commit -mfinal"), ("pytest --exitfirst", "pytest -kxml")]
)
def test_a_value_behind_a_short_option_is_no_option(pattern: str, action: str) -> None:
    assert compared(pattern, action) is Likeness.OTHER


def test_a_single_dash_before_a_long_name_is_a_double_one() -> None:
    assert options_in("terraform", ["-target=db", "-auto-approve"]) == options_in("terraform", ["--target=db", "--auto-approve"])


@pytest.mark.parametrize("end", ["1", "-1", "A"])
def test_reading_options_takes_as_long_as_they_are(end: str) -> None:
    """In time by the square of its length this would reach the limit of time for a test."""
    option = "-" + "a" * 400_000 + end
    assert options_in("terraform", [option]) == {option}
