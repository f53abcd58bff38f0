"""Commands without the names of their tasks."""

import pytest

from alma.learning.task_names import without_task_names


@pytest.mark.parametrize(
    ("command", "task", "expected"),
    [
        ("kubectl rollout restart deployment/web-1", "Pod web-1 is OOMKilled", "kubectl rollout restart deployment"),
        ("kubectl delete pod web-1 --now", "Pod `web-1` hangs.", "kubectl delete pod --now"),
        ("kubectl delete pod web-2", "Pod web-1 hangs", "kubectl delete pod web-2"),
        ("git push --force", "Push with --force", "git push --force"),
        ("rm -rf build/db-3", "db-3 is full", "rm -rf build/db-3"),
        ("rm -rf /var/log/db-3", "db-3 is full", "rm -rf /var/log/db-3"),
        ("pd.read_csv('customers.csv', sep=';')", "Read customers.csv", "pd.read_csv(sep=';')"),
        ('refund(method="card")', "Refund order 12 to the card", 'refund(method="card")'),
        ('set_mode("production")', "Switch the shop to production", 'set_mode("production")'),
        ("read_csv('a.csv', encoding='utf-8')", "Read a.csv as utf-8", "read_csv(encoding='utf-8')"),
        ("pip install requests", "Install requests", "pip install requests"),
        ("pip install numpy==1.2", "numpy==1.2 is missing", "pip install numpy==1.2"),
        ("python3 migrate-1.py", "migrate-1.py hangs", "python3 migrate-1.py"),
        ("git checkout v1.2.3", "Deploy v1.2.3", "git checkout v1.2.3"),
        ("docker stop db-3", "db-3 is slow", "docker stop"),
        ("", "db-3 is slow", ""),
        ("restarted the pod web-1 and then looked at it", "Pod web-1 hangs", "restarted the pod web-1 and then looked at it"),
    ],
)
def test_a_command_stands_without_the_names_of_its_task(command: str, task: str, expected: str) -> None:
    assert without_task_names(command, task) == expected
