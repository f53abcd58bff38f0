"""Around a task: harness, domains, workflows, sessions, progress and wake-up, on `alma`."""
