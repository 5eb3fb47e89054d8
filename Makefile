# Every target sets up what it needs in a private virtual environment (.venv); nothing else on the machine changes,
# except that a JDK, for `make test`, `make test-all` and `make faults` PostgreSQL, for `make test` Chromium, and for tests
# systemd's programs, are installed with apt where they are missing (tools/prepare says so before it does).

PYTHON := .venv/bin/python
# Python keeps its byte code, also where the environment says otherwise. Without it, each process of the tests compiles all
# that it imports: three seconds for an engine, fifteen for a worker of pytest.
export PYTHONDONTWRITEBYTECODE :=
# These wait half of their time, for processes, terminals and sockets: more of them in parallel than there are cores.
FAST := -m "not spark and not browser and not slow" -n 3 --dist worksteal
# Two modules in parallel, each with an engine of its own that the next modules share.
SPARK := -p tests.support.memory_folder -m "(spark or browser) and not slow" -n 2 --dist loadfile --no-loadscope-reorder \
	--durations=20
SLOW := -m slow -n 0 --durations=20
# An hour of random statements of a user without rights; it reports how many there were.
WALK := tests/engine/session/test_rights_walk.py

# The commit that `make bench` compares with.
BASE := HEAD^

.PHONY: help java demo demo-orders demo-scaling demo-lakehouse try format lint docs test test-all test-fast test-clients test-sparks test-kubernetes image console bench faults release clean environment

help:
	@echo "make demo            jobs over the flights of 2013, created, suspended, resumed and dropped in SQL (two minutes)"
	@echo "make demo-scaling    a cluster on this machine: a member joins, one is killed, every row is counted (two minutes)"
	@echo "make demo-orders     orders through Kafka: totals exactly once, alerts immediately, Kafka killed (a minute and a half)"
	@echo "make demo-lakehouse  upserts into Delta, a job over their changes, older versions, a crash (three minutes; the first"
	@echo "                     time fetches some 500 MB, a Spark that Delta has a release for)"
	@echo "make try FILE=x.sql  the statements of a file, on an engine of this checkout with an empty home"
	@echo "make format          the layout of all sources: ruff, google-java-format"
	@echo "make lint            the checks that need no tests: ruff, mypy, the layers of imports, plain English"
	@echo "make test            the tests that must pass before a change lands (half an hour)"
	@echo "make test-all        make test, the slow tests, a search by the property tests, a mutation test, make test-clients,"
	@echo "                     make test-sparks, make faults (two hours and more)"
	@echo "make test-fast       the tests that start neither Spark nor PostgreSQL nor a browser"
	@echo "make test-clients    SQLAlchemy's own suite, JetSQL without the engine, other clients (the first time fetches some 1 GB)"
	@echo "make test-sparks     chosen tests on the older Sparks (half an hour; the first time fetches some 1 GB)"
	@echo "make test-kubernetes the stories on a real Kubernetes on this machine, as root (some 40 minutes; the first time fetches some 1 GB"
	@echo "                     and builds Kubernetes and Helm, which takes 15 minutes of processor time)"
	@echo "make image           the image of the engine, as root, with Debian's buildah (VARIANT=delta, VARIANT=iceberg)"
	@echo "make docs            the documentation site, in build/site"
	@echo "make console         the scripts and styles of the web console, after a change in console/ (needs Node and npm)"
	@echo "make bench           the benchmarks; the last one compares this checkout with the commit of BASE=REV (default: HEAD^)"
	@echo "make faults          jobs are killed at every named place, and every row is counted (an hour)"
	@echo "make release         build sdist and wheels in dist/, and try them with and without network; publishes nothing"
	@echo "make java            the jar of the Java classes, which every other target builds as well when they have changed"
	@echo "make clean           remove everything that was made here"

environment:
	@tools/prepare

java:
	@tools/prepare java

demo:
	@tools/prepare java
	@$(PYTHON) -m examples.flights.demo

demo-scaling:
	@tools/prepare java
	@$(PYTHON) -m examples.scaling.demo

demo-orders:
	@tools/prepare java
	@$(PYTHON) -m examples.orders.demo

demo-lakehouse:
	@tools/prepare java
	@$(PYTHON) -m examples.lakehouse.demo

try:
	@test -n "$(FILE)" || { echo 'Name a file: make try FILE=jobs.sql' >&2; exit 2; }
	@tools/prepare java
	@rm -rf build/try
	@$(PYTHON) -m jetsql --home build/try --embedded run '$(FILE)'

format:
	@tools/prepare java
	@$(PYTHON) -m ruff check --fix --quiet .
	@$(PYTHON) -m ruff format --quiet .
	@$(PYTHON) -m tools.java.checks

lint:
	@tools/prepare
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check --quiet .
	@$(PYTHON) -m mypy
	@.venv/bin/lint-imports --no-cache
	@$(PYTHON) -m pytest -q -n 0 tests/project/test_english.py

# Both parts wait for processes, files and intervals, so that they run side by side in less time than one after the other.
test:
	@tools/prepare java postgresql chromium systemd sparks
	@-$(PYTHON) -m tools.class_archive
	@mkdir -p build
	@echo "The report of the tests without Spark, and of those on the older Sparks, comes last."
	@{ $(PYTHON) -m pytest $(FAST); fast=$$?; $(PYTHON) -m tools.sparks --stories && exit $$fast; } \
		>build/test.txt 2>&1 & others=$$!; \
		$(PYTHON) -m pytest $(SPARK); spark=$$?; \
		wait $$others; others=$$?; cat build/test.txt; exit $$((others + spark))

test-all: test
	@JETSQL_HYPOTHESIS=search JETSQL_OPENAPI_EXAMPLES=300 $(PYTHON) -m pytest $(FAST)
	@$(PYTHON) -m pytest $(SLOW)
	@JETSQL_RIGHTS_SECONDS=3600 $(PYTHON) -m pytest $(SLOW) -o log_cli=true -o log_cli_level=INFO $(WALK)
	@$(PYTHON) -m tools.mutation
	@$(MAKE) --no-print-directory test-clients
	@$(MAKE) --no-print-directory test-sparks
	@$(MAKE) --no-print-directory faults

test-fast:
	@tools/prepare java systemd
	@$(PYTHON) -m pytest $(FAST)

test-clients:
	@tools/prepare java
	@test -x .venv.sqlalchemy14/bin/pytest || { $(PYTHON) -m venv .venv.sqlalchemy14 && \
		.venv.sqlalchemy14/bin/python -m pip install --quiet --disable-pip-version-check 'sqlalchemy<2' pytest; }
	@$(PYTHON) -m tests.sqlalchemy_suite $(PYTHON) .venv.sqlalchemy14/bin/python
	@$(PYTHON) -m tests.sqlglot_versions
	@$(PYTHON) -m tests.external_clients

test-sparks:
	@tools/prepare java postgresql
	@$(PYTHON) -m tools.sparks

# 77 is the exit code where this machine cannot run a Kubernetes.
test-kubernetes:
	@tools/prepare java postgresql kubernetes
	@$(PYTHON) -m tools.kubernetes programs || { status=$$?; test $$status = 77 && exit 0; exit $$status; }; \
		$(PYTHON) -m pytest -m slow -n 0 --durations=40 -o log_cli=true -o log_cli_level=INFO \
		tests/project/test_helm.py tests/stories/kubernetes

image:
	@tools/prepare java buildah
	@$(PYTHON) -m tools.kubernetes image --variant $(or $(VARIANT),plain)

docs:
	@tools/prepare
	@$(PYTHON) -m tools.docs
	@$(PYTHON) -m tools.docs.site build/site

console:
	@cd console && npm ci --no-audit --no-fund && npm run build

bench:
	@tools/prepare java
	@$(PYTHON) -m benchmarks.startup
	@$(PYTHON) -m benchmarks.commands
	@$(PYTHON) -m benchmarks.lifecycle
	@$(PYTHON) -m benchmarks.overhead
	@$(PYTHON) -m benchmarks.lakehouse
	@$(PYTHON) -m benchmarks.nexmark
	@$(PYTHON) -m benchmarks.scaling
	@$(PYTHON) -m benchmarks.small_batches
	@$(PYTHON) -m benchmarks.completion
	@$(PYTHON) -m benchmarks.unit_tests
	@$(PYTHON) -m benchmarks.users
	@$(PYTHON) -m benchmarks.console
	@$(PYTHON) -m benchmarks.kafka
	@$(PYTHON) -m benchmarks.compare $(BASE)

faults:
	@tools/prepare java postgresql
	@-$(PYTHON) -m tools.class_archive
	@$(PYTHON) -m benchmarks.faults

release:
	@tools/prepare java
	@$(PYTHON) -m tools.release

clean:
	rm -rf .venv .venv.* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf spark-warehouse metastore_db derby.log jetsql/engine/jetsql.jar
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
