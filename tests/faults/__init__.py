"""The crash matrix: jobs of every kind are killed at every fail point, and every row is counted afterwards.

`tests/stories/test_crashes.py` runs it as a test, `python -m benchmarks.faults` prints it as a table.
"""
