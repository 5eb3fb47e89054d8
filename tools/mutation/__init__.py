"""A mutation test of the packages whose tests need no JVM: `python -m tools.mutation`, or `make test-all`.

mutmut makes the mutants: copies of a function with one operator, constant, argument or string changed. A seeded sample
of them runs against the tests that reach the changed lines and against the type check, until the time given is over.
mutmut's own command is not used to run them: it has no sample, no limit of time and no list of explained mutants, it
runs all tests in one process, twice, before the first mutant, its mutants are not seen by the processes that tests
start, and it does not end such processes when it ends a test that hangs.
"""
