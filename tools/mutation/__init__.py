"""A mutation test of the packages whose tests need no JVM: `python -m tools.mutation`, or `make test-all`.

mutmut creates the mutants: copies of a function with one changed operator, constant, argument or string. A random
sample of them is run against the tests that reach the changed lines and against the type check, until the time limit.
mutmut's own runner is not used, for these reasons:

- It has no sample, no time limit and no list of explained mutants.
- It runs all tests in one process, twice, before the first mutant.
- Processes that tests start do not see its mutants, and it does not kill such processes of a test that hangs.
"""
