"""LoCoMo at session level: is the session with the evidence among the first that ALMA recalls?

`python -m benchmarks.locomo --data FILE`. The data are public (CC BY-NC 4.0, snap-research/locomo); they are not part of this repository.
"""
