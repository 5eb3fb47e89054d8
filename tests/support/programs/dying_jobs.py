"""Run jobs without Spark in a process that is to die at a fail point of `JETSQL_FAILPOINT`.

The arguments are HOME and then steps. A step is a statement, which is not waited for with `&` before it, or an event of
the engine: `batch`: jobs read tables once; `quiet`: runs do not write by themselves; `complete`, `fail`: the job's run
ends this way.
"""

import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from jetsql.jobs.model.job import Cause  # noqa: E402
from tests.conftest import until  # noqa: E402
from tests.support.engines.in_memory_runtime import analysis  # noqa: E402
from tests.support.engines.jobs_harness import JobsHarness, in_thread, run_manager  # noqa: E402


def runs(jobs: JobsHarness) -> dict[str, int]:
    return {job: run.job.run for job, run in jobs.runtime.runs.items()}


def do(jobs: JobsHarness, text: str) -> None:
    match text:
        case "complete" | "fail":
            [job] = [job.id for job in jobs.store.live_jobs()]
            if text == "complete":
                jobs.runtime.complete(job)
            else:
                jobs.runtime.fail(job, Cause("1/0", "DIVIDE_BY_ZERO", retryable=False))
        case "batch":
            jobs.runtime.analysis = analysis(streaming=False, modes={}, sources=())
        case "quiet":
            jobs.runtime.quiet = True
        case _ if text.startswith("&"):
            before = runs(jobs)
            in_thread(lambda: jobs.sql(text[1:]))
            until(lambda: runs(jobs) != before)
            for job, run in runs(jobs).items():
                jobs.wait_run(job, run)
        case _:
            jobs.sql(text)


if __name__ == "__main__":
    with run_manager(Path(sys.argv[1])) as jobs:
        for text in sys.argv[2:]:
            do(jobs, text)
        threading.Event().wait(50)
