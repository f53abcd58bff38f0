"""LongMemEval at session level: is the session with the evidence among the first that ALMA recalls?

`python -m benchmarks.longmemeval --data FILE`. The data are public (MIT, xiaowu0162/LongMemEval); they are not part of this repository.
"""
