"""`python -m benchmarks.locomo`."""

from benchmarks import locomo
from benchmarks.locomo.questions import read_questions
from benchmarks.longmemeval.runner import run_command

if __name__ == "__main__":
    run_command(read_questions, name="LoCoMo", prog="python -m benchmarks.locomo", description=locomo.__doc__)
