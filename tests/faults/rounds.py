"""The scenarios: the rounds of a home, each of which is a start of an engine and its crash.

A start continues after the crash before it. A round arms several fail points, so that every job crashes at its own; the
statements of the round reach those in statements. A round does not depend on other rounds, so any can be left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from jetsql.failpoints import FailPoint
from tests.faults.jobs import FILE_KINDS, JDBC_KINDS, KAFKA_KINDS, ONCE, PASSING, RENEWED, REWRITTEN_KINDS, Kind
from tests.faults.refused_jobs import REFUSED_KINDS
from tests.faults.ruled_jobs import RULED_KINDS
from tests.faults.timed_jobs import TIMED_KINDS

_SUSPEND, _RESUME, _DROP = "SUSPEND JOB minutes", "RESUME JOB minutes", "DROP JOB IF EXISTS renewed"
_ALTER = "ALTER JOB digits OPTIONS ('snapshotIntervalMillis' = '150')"

CONTINUED: Final = ("continued",)
GIVEN_UP: Final = ("update abandoned",)

# The events that the next history row may have for a job that crashed there; at all other points its run is continued.
NEXT_TITLES: Final = {
    "storing-submitted": ("submitted",),
    "table-created": ("nothing",),  # the statement had not created the job
    "stored-completed": ("cleaned up",),
    "stored-suspend-requested": ("suspended",),
    "storing-suspended": ("suspended",),
    "stored-restart-requested": ("restarted",),
    "storing-restarted": ("restarted",),
    "storing-options-changed": ("options changed", "resumed"),
    "stored-options-changed": ("resumed",),
    "stored-drop-requested": ("dropped",),
    "storing-dropped": ("dropped",),
    "stored-dropped": ("cleaned up",),
    "sink-recovered": ("cleaned up",),
    "staging-discarded": ("cleaned up",),
    "storing-cleaned-up": ("cleaned up",),
    "stored-drop-with-snapshot-requested": ("writing snapshot",),
    "stored-writing-snapshot": ("suspended",),
    "pending-finished": ("suspended",),
    "stored-update-requested": GIVEN_UP,
    "storing-old-version-stopped": GIVEN_UP,
    "stored-old-version-stopped": GIVEN_UP,
    "state-half-copied": (*CONTINUED, *GIVEN_UP),
    "state-repartitioning": GIVEN_UP,
    "state-repartitioned": GIVEN_UP,
    "update-prepared": GIVEN_UP,
}


@dataclass(frozen=True)
class Round:
    """A start of the engine and its death.

    places: the fail points of jobs. statements: run in order; the last one runs after all places are reached that need
    no statement. apart: statements that wait for what dies, each run on a thread of its own after the others.
    inserted: rows of others, inserted into `copy` first. files: the number of new files of the source before the start.
    """

    places: tuple[str, ...]
    statements: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    inserted: tuple[int, ...] = ()
    files: int = 0

    @property
    def armed(self) -> list[FailPoint]:
        return [FailPoint.parse(place) for place in self.places]

    @property
    def waits(self) -> bool:
        """Return whether the last fail point is in the store's writer, for which all statements wait."""
        return bool(self.places) and self.places[-1].startswith(("storing-", "stored-"))


@dataclass(frozen=True)
class Scenario:
    """The life of a home. jobs: those that are created first and stay; a round at the beginning creates them.

    polled: the tables that the open session reads. java_dies: Spark's Java is killed with the engine; otherwise it has
    to detect that its engine is dead, and may act meanwhile. slots: of Spark's for tasks; jobs whose tasks wait
    at fail points keep theirs.
    """

    name: str
    jobs: tuple[Kind, ...]
    rounds: tuple[Round, ...]
    polled: tuple[str, ...]
    java_dies: bool = True
    slots: int = 2

    @property
    def writes_topics(self) -> bool:
        return any(kind.topic for kind in self.jobs)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All jobs whose tables are judged."""
        return (*self.jobs, *PASSING)

    def dies_at(self, name: str) -> bool:
        return any(place.name == name for round in self.rounds for place in round.armed)

    def only(self, name: str) -> Scenario:
        """Return the scenario with the rounds that die at one fail point; other rounds only create the jobs."""
        creating = next(round for round in self.rounds if self.jobs[0].job in round.statements)
        setup = replace(creating, places=(), statements=tuple(kind.job for kind in self.jobs), apart=())
        found = [round for round in self.rounds if any(place.name == name for place in round.armed)]
        rounds = [setup if round is creating and creating not in found else round for round in self.rounds]
        return replace(self, rounds=tuple(round for round in rounds if round is setup or round in found))


def _renew(life: int) -> str:
    return RENEWED.job.format(life=life)


def _once(life: int) -> str:
    return ONCE.job.format(life=life)


def _make(kinds: tuple[Kind, ...]) -> tuple[str, ...]:
    return tuple(kind.job for kind in kinds)


LAST_LIVES: Final = (_renew(99), _once(99))
_FEW: Final = tuple(kind for kind in FILE_KINDS if kind.name in ("parts", "minutes", "digits", "now"))

# Every kind of job, each of which dies at every place of its sink.
SINKS: Final = Scenario(
    "sinks",
    (*FILE_KINDS, *JDBC_KINDS),
    (
        Round(
            (
                *("staged:copy@2", "manifest-written:parts@2", "sink-written:minutes@2", "result-staged:digits@2"),
                *("sink-written:paired@2", "sink-written:least@2", "jdbc-prepared:j_copy@2", "jdbc-staged:j_digits@2"),
                *("jdbc-committed:j_minutes@2", "sink-written:j_whole@2", "sink-written:j_least@2"),
                *("jdbc-staged:j_changes@2", "rows-stored:split@2", "sink-written:j_history@2"),
                "staged:timely",
                *("jdbc-staged:j_retracted@2", "result-staged:joined@2"),
                "storing-submitted:renewed",
            ),
            (*_make((*FILE_KINDS, *JDBC_KINDS)), _renew(1)),
            inserted=(-1,),
            files=3,
        ),
        Round(
            (
                *("file-moved:copy", "file-moved:parts@4", "manifest-written:minutes", "table-moved:digits"),
                *("staged:paired", "sink-written:chained", "run-started:copy_too", "jdbc-committed:j_copy"),
                *("jdbc-staged:j_minutes", "sink-written:j_digits", "jdbc-committed:j_whole"),
                *(
                    "jdbc-committed:j_changes",
                    "branch-written:split",
                    "jdbc-staged:j_history",
                    "late-rows-written:timely",
                ),
                "jdbc-committed:j_retracted",
                # Not where an older life is dropped: that one's first trigger may still come in.
                "storing-first-trigger:renewed",
            ),
            (_renew(2),),
            inserted=(-2,),
            files=1,
        ),
        Round(
            (
                *("manifest-written:copy", "files-moved:parts", "file-moved:minutes", "sink-written:digits"),
                *("manifest-written:chained", "run-starting:copy_too", "sink-written:j_copy", "sink-written:j_minutes"),
                *("jdbc-prepared:j_digits", "jdbc-staged:j_whole", "sink-written:j_changes"),
                *("jdbc-committed:split", "jdbc-committed:j_history", "manifest-written:timely"),
                "sink-written:j_retracted",
                "stored-submitted:renewed",
            ),
            (_DROP, _renew(3)),
            files=1,
        ),
        Round(
            (
                *("sink-written:copy", "sink-written:parts", "file-moved:minutes", "file-moved:chained"),
                *("jdbc-staged:j_copy", "jdbc-committed:j_digits", "stored-suspend-requested:minutes"),
            ),
            (_SUSPEND,),
            inserted=(-3,),
            files=1,
        ),
    ),
    polled=("copy", "parts", "digits"),
)

# A few jobs that die in the middle of statements.
STATEMENTS: Final = Scenario(
    "statements",
    _FEW,
    (
        Round(("store-made",)),
        Round(("table-created:never",), ("CREATE JOB never AS CREATE TABLE never AS SELECT 1 AS id",)),
        Round(("storing-suspended:minutes",), (*_make(_FEW), _SUSPEND), files=2),
        Round(
            ("sink-recovered:renewed", "file-moved:once@3", "stored-resumed:minutes"),
            (_renew(1), _DROP, _once(1), _SUSPEND, _RESUME),
        ),
        Round(
            ("staging-discarded:renewed", "sink-written:now", "file-moved:parts@3", "stored-restart-requested:parts"),
            (_renew(2), _DROP, "RESUME JOB now", "RESTART JOB parts"),
            files=1,
        ),
        Round(("storing-restarted:parts",), ("RESTART JOB parts",)),
        Round(("stored-restarted:parts",), ("RESTART JOB parts",)),
        Round(("storing-options-changed:digits",), ("SUSPEND JOB digits", _ALTER)),
        Round(("stored-options-changed:digits",), ("SUSPEND JOB digits", _ALTER)),
        Round(("file-moved:renewed@15", "stored-drop-requested:renewed"), (_renew(4), _DROP)),
        Round(("storing-dropped:renewed",), (_renew(5), _DROP)),
        Round(("stored-dropped:renewed",), (_renew(6), _DROP)),
        Round(("storing-cleaned-up:renewed",), (_renew(7), _DROP)),
        Round(("stored-continued:parts",)),
        Round(("storing-completed:once",), (_once(2),)),
        Round(("stored-completed:once",), (_once(3),)),
    ),
    polled=("parts", "digits"),
    java_dies=False,
)


def _update(name: str, *options: str) -> str:
    """Return the same statement with other options, so that the expected rows stay the same."""
    statement = next(
        kind.job for kind in (*FILE_KINDS, *REWRITTEN_KINDS, *TIMED_KINDS, *KAFKA_KINDS) if kind.name == name
    )
    statement = statement.replace("CREATE JOB IF NOT EXISTS", "CREATE OR REPLACE JOB")
    return statement.replace(
        "'snapshotIntervalMillis' = '100'", ", ".join(("'snapshotIntervalMillis' = '120'", *options))
    )


def _spread(name: str, partitions: int) -> str:
    return _update(name, f"'spark.sql.shuffle.partitions' = '{partitions}'")


def _fail(name: str) -> str:
    """Return a new version that fails in its first batch."""
    return _update(name).replace("SELECT id,", "SELECT CAST(raise_error('no') AS BIGINT),")


def _snapshot(name: str) -> str:
    return f"CREATE OR REPLACE SNAPSHOT of_{name} FOR JOB {name}"


_STATEFUL = (*_FEW, *REWRITTEN_KINDS)
_AGAIN = "WAIT FOR JOB digits UNTIL IDLE TIMEOUT 60"
_BEGUN = "WAIT FOR JOB renewed UNTIL BATCH 0 TIMEOUT 60"

# Jobs whose state is copied, kept, spread over other partitions and taken over by other versions.
STATES: Final = Scenario(
    "states",
    _STATEFUL,
    (
        Round(("stored-update-requested:digits",), (*_make(_STATEFUL), _AGAIN), (_update("digits"),), files=3),
        Round(("storing-old-version-stopped:digits",), (), (_update("digits"),)),
        Round(("stored-old-version-stopped:minutes",), (), (_update("minutes"),)),
        Round(
            (
                *("state-half-copied:parts", "state-repartitioning:digits", "update-prepared:minutes"),
                *("jdbc-staged:j_maxima", "jdbc-committed:j_pairs"),
                "stored-drop-with-snapshot-requested:renewed",
            ),
            (_renew(1), _BEGUN),
            (_snapshot("parts"), _spread("digits", 3), _update("minutes"), "DROP JOB renewed WITH SNAPSHOT of_renewed"),
            files=1,
        ),
        Round(
            (
                *("state-copied:parts", "state-repartitioned:digits", "sink-written:minutes"),
                *("sink-written:j_maxima", "sink-written:recognized"),
                "stored-suspend-requested:minutes",
            ),
            (),
            (_snapshot("parts"), _spread("digits", 3), _SUSPEND),
            files=1,
        ),
        Round(
            (
                *("state-half-copied:parts", "state-half-copied:digits", "pending-finished:minutes"),
                "stored-snapshot:renewed",
            ),
            (_renew(2), _BEGUN),
            (_update("parts"), _update("digits"), _snapshot("minutes"), _snapshot("renewed")),
        ),
        Round(("stored-writing-snapshot:minutes",), (_SUSPEND,), (_snapshot("minutes"),)),
        Round(("storing-snapshot:minutes",), (_RESUME,), (_snapshot("minutes"),)),
        Round(("stored-updated:digits",), (), (_update("digits"),)),
        Round(
            ("storing-update-committed:digits",),
            tuple(_spread(kind.name, 3) for kind in REWRITTEN_KINDS),
            (_spread("digits", 3),),
            files=1,
        ),
        Round(("stored-update-committed:digits",), (), (_update("digits"),), files=1),
        Round((), tuple(_spread(kind.name, 1) for kind in REWRITTEN_KINDS)),
        # More files than the old version reads before it is replaced: the new version fails when it reads one.
        Round(("stored-update-rolled-back:parts",), (), (_fail("parts"),), files=8),
    ),
    polled=("parts", "digits"),
)
_TIMED = (*(kind for kind in FILE_KINDS if kind.name == "now"), *TIMED_KINDS)

# Jobs whose rows wait for a watermark, with rows that come too late and a source that is idle at times.
WATERMARKS: Final = Scenario(
    "watermarks",
    _TIMED,
    (
        Round(
            (
                *("sink-written:unmatched@3", "sink-written:idle@2", "staged:late_totals@4"),
                "late-rows-written:late_pairs",
            ),
            _make(_TIMED),
            files=3,
        ),
        Round(
            (
                *("file-moved:unmatched", "manifest-written:idle", "late-rows-written:late_totals"),
                "manifest-written:late_pairs@2",
            ),
            files=2,
        ),
        Round(
            ("state-repartitioned:unmatched",),
            tuple(_spread(kind.name, 3) for kind in TIMED_KINDS if kind.name != "unmatched"),
            (_spread("unmatched", 3),),
            files=1,
        ),
        Round(
            ("state-half-copied:late_pairs", "file-moved:late_totals", "run-started:idle", "staged:unmatched"),
            (),
            (_spread("late_pairs", 3),),
            files=2,
        ),
    ),
    polled=("unmatched", "late_totals"),
)
_TOPICS = (
    *(kind for kind in FILE_KINDS if kind.name in ("parts", "now")),
    *(kind for kind in KAFKA_KINDS if kind.name != "k_pairs"),
)

# Jobs that write topics, which die before and after every call of a transaction, and while they are updated.
TOPICS: Final = Scenario(
    "topics",
    _TOPICS,
    (
        Round(
            (
                *("parts-listed:k_numbers@2", "kafka-begun:k_minutes", "kafka-marked:k_digits@2"),
                *("sink-written:parts@2", "dead-letters-written:k_fitting"),
                *("branch-written:k_split@3", "result-stored:k_retracted@2"),
            ),
            _make(_TOPICS),
            files=3,
        ),
        Round(
            (
                *("kafka-committed:k_numbers", "kafka-sent:k_copy", "kafka-open:k_both", "kafka-marked:k_minutes"),
                *("kafka-committed:k_digits", "file-moved:k_fitting"),
                *("branch-written:k_split@2", "kafka-committed:k_retracted"),
            ),
            files=2,
        ),
        Round(
            (
                *("kafka-marked:k_numbers", "kafka-committed:k_copy", "kafka-committed:k_both"),
                *("sink-written:k_minutes", "kafka-begin:k_digits", "sink-written:k_retracted"),
                "kafka-committed:k_split",
            ),
            files=2,
        ),
        Round(
            (
                *("sink-written:k_numbers", "kafka-opened:k_copy", "kafka-sent:k_both", "kafka-committed:k_minutes"),
                *("sink-written:k_fitting", "stored-suspend-requested:k_minutes"),
            ),
            (),
            ("SUSPEND JOB k_minutes",),
            files=2,
        ),
        Round(
            ("state-half-copied:k_digits", "update-prepared:k_copy", "pending-finished:k_minutes"),
            (),
            (_update("k_digits"), _update("k_copy"), _snapshot("k_minutes")),
            files=1,
        ),
    ),
    polled=("parts",),
    slots=12,
)

_CHANGED = tuple(
    kind
    for kind in (*FILE_KINDS, *REWRITTEN_KINDS, *KAFKA_KINDS)
    if kind.name in ("parts", "now", "j_maxima", "j_pairs", "k_pairs")
)

# Jobs that keep rows of streams and pass on changes, which die in batches and while their state is spread.
CHANGES: Final = Scenario(
    "changes",
    _CHANGED,
    (
        Round(("jdbc-staged:j_pairs@2", "kafka-marked:k_pairs@2", "sink-written:j_maxima@2"), _make(_CHANGED), files=4),
        Round(("jdbc-committed:j_pairs", "kafka-committed:k_pairs", "jdbc-committed:j_maxima"), files=2),
        Round(
            ("state-repartitioned:j_pairs", "state-repartitioning:k_pairs"),
            (),
            (_spread("j_pairs", 3), _spread("k_pairs", 3)),
            files=1,
        ),
        Round((), tuple(_spread(name, 3) for name in ("j_pairs", "j_maxima", "k_pairs")), files=1),
        Round(("sink-written:j_pairs", "kafka-sent:k_pairs", "jdbc-prepared:j_maxima"), files=2),
        Round(("jdbc-prepared:j_pairs", "sink-written:k_pairs"), files=3),
    ),
    polled=("parts",),
    slots=6,
)

_RULED = (*(kind for kind in FILE_KINDS if kind.name == "now"), *RULED_KINDS)

# Jobs with rules, which die twenty times between the writes of their tables and of their counts.
RULES: Final = Scenario(
    "rules",
    _RULED,
    (
        Round(("violations-written:ruled@2", "violations-written:r_split@3"), _make(_RULED), files=4),
        Round(("violations-counted:ruled", "violations-counted:r_split"), files=2),
        Round(("staged:ruled@2", "rows-stored:r_split"), files=2),
        Round(("manifest-written:ruled@3", "branch-written:r_split"), files=2),
        Round(("file-moved:ruled", "branch-written:r_split@2"), files=1),
        Round(("sink-written:ruled", "manifest-written:r_split@3"), files=1),
        Round(("violations-written:ruled", "violations-written:r_split@2"), files=2),
        Round(("run-started:ruled", "violations-counted:r_split@2"), files=2),
        Round(("violations-counted:ruled@2", "sink-written:r_split"), files=3),
        Round(("files-moved:ruled@2", "file-moved:r_split@4"), files=2),
    ),
    polled=("ruled",),
    slots=4,
)

_REFUSED = (*(kind for kind in FILE_KINDS if kind.name == "now"), *REFUSED_KINDS)

# Jobs whose sinks refuse rows, which die between the decision and the writes of both parts.
REFUSED: Final = Scenario(
    "refused",
    _REFUSED,
    (
        Round(
            ("refused-batch-stored:j_checked@2", "refusals-decided:halved@2", "converted-written:fitted@2"),
            _make(_REFUSED),
            files=4,
        ),
        Round(("refusals-decided:j_checked", "accepted-written:halved", "unconverted-written:fitted"), files=2),
        Round(("accepted-written:j_checked@2", "refused-written:halved", "manifest-written:fitted@2"), files=2),
        Round(("refused-written:j_checked", "refused-batch-stored:halved@2"), files=2),
        Round(("jdbc-staged:j_checked@2", "jdbc-committed:halved"), files=2),
        Round(("jdbc-committed:j_checked", "rows-stored:halved"), files=1),
        Round(("sink-written:j_checked@2", "branch-written:halved@2"), files=2),
        Round(("jdbc-prepared:j_checked@3", "manifest-written:halved@2"), files=2),
    ),
    polled=("now",),
    slots=4,
)

# One job into each kind of sink, each killed once in the middle of a batch. `make test` runs this scenario alone.
_EACH = tuple(
    kind
    for kind in (*FILE_KINDS, *JDBC_KINDS, *KAFKA_KINDS)
    if kind.name in ("parts", "now", "j_copy", "k_numbers", "split")
)
EACH_SINK: Final = Scenario(
    "each-sink",
    _EACH,
    (
        Round(
            ("file-moved:parts@4", "jdbc-committed:j_copy", "kafka-committed:k_numbers", "branch-written:split"),
            _make(_EACH),
            files=3,
        ),
    ),
    polled=("parts",),
    java_dies=False,
    slots=6,
)
SCENARIOS: Final = {
    scenario.name: scenario
    for scenario in (EACH_SINK, SINKS, STATEMENTS, STATES, WATERMARKS, TOPICS, CHANGES, RULES, REFUSED)
}
