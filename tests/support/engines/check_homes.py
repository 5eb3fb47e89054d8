"""Handmade homes for tests of `jetsql check`, with files as Spark and JetSQL write them."""

from __future__ import annotations

import json
import struct
import zlib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from jetsql.jobs.checkpoint_files.crc32c import crc32c
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, Snapshot, Status, Version
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.store.job_store import Store
from tests.support.engines.in_memory_runtime import analysis, sink
from tests.support.engines.jobs_harness import body, changed, option

ID = "0001-0000-0000-0001"


def write(path: Path, text: str) -> Path:
    """Write a file with its checksums, as Hadoop does, and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    path.write_bytes(content)
    sums = b"".join(struct.pack(">I", zlib.crc32(content[at : at + 512])) for at in range(0, len(content), 512))
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + struct.pack(">I", 512) + sums)
    return path


@dataclass(frozen=True)
class Home:
    """A home with a store. Jobs and their files are added one by one."""

    path: Path

    @property
    def warehouse(self) -> Path:
        return self.path / "warehouse"

    def job(self, name: str = "orders", *, options: dict[str, str] | None = None, **changes: object) -> Job:
        """Store a suspended job with a table of its own, which has committed batch 2, and return it."""
        table = self.warehouse / name
        table.mkdir(parents=True, exist_ok=True)
        body_analysis = analysis(
            sinks=(sink(name, location=f"file:{table}"),), stateful=bool(changes.pop("stateful", False))
        )
        given = tuple(option(key, value, 20 + at) for at, (key, value) in enumerate((options or {}).items()))
        plan = make_plan(body_analysis, parse_options(given), body().verb, None)
        version = Version("CREATE JOB ...", body(), plan, first_trigger_done=True)
        job = Job(ID, name, version, 1.0, status=Status.SUSPENDED, run=1)
        job = changed(job, **{"batch": 2, "has_files": True, **changes})
        with closing(Store(self.path / "jetsql.db")) as store:
            store.add(job, HistoryRow(job.id, 1.0, "submitted", None, job.status, 1, "words"))
        return job

    def snapshot(self, job: Job, name: str = "before", number: int = 9, batch: int | None = 2) -> Snapshot:
        snapshot_id = f"000{number}-0000-0000-0001"
        snapshot = Snapshot(snapshot_id, name, job.id, job.name, job.version.statement, job.plan, batch, 1, 1.0)
        with closing(Store(self.path / "jetsql.db")) as store:
            store.add_snapshot(snapshot)
        return snapshot

    def spark(self, job: Job) -> Path:
        return (
            self.path
            / "checkpoints"
            / job.id
            / (f"spark-{job.version.checkpoint}" if job.version.checkpoint else "spark")
        )

    def checkpoint(self, folder: Path, batches: int = 3, pending: bool = False, stateful: bool = False) -> Path:
        """Write a checkpoint with committed batches of a file source and state in two partitions; return its folder."""
        for name in ("offsets", "commits", "sources/0", "state") if stateful else ("offsets", "commits", "sources/0"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        write(folder / "metadata", '{"id":"d1909855-ce38-4108-98ec-4d51e7a941ae"}')
        for batch in range(batches + pending):
            self.planned(folder, batch)
        for batch in range(batches):
            self.committed(folder, batch, stateful)
        return folder

    def planned(self, folder: Path, batch: int) -> None:
        facts = json.dumps({"batchWatermarkMs": 0, "conf": {"spark.sql.shuffle.partitions": "2", "pad": "x" * 600}})
        write(folder / "offsets" / str(batch), f'v1\n{facts}\n{{"logOffset":{batch}}}\n-')
        write(folder / "sources" / "0" / str(batch), f'v1\n{{"path":"file:///src/{batch}","batchId":{batch}}}')

    def committed(self, folder: Path, batch: int, stateful: bool) -> None:
        ids = {"0": [[f"id-{batch}-{part}"] for part in range(2)]} if stateful else None
        write(folder / "commits" / str(batch), f"v2\n{json.dumps({'nextBatchWatermarkMs': 0, 'stateUniqueIds': ids})}")
        for part in range(2) if stateful else ():
            changes = write(folder / "state" / "0" / str(part) / f"{batch + 1}_id-{batch}-{part}.changelog", "changes")
            sums = {"algorithm": "CRC32C", "value": crc32c(b"changes") - 2**32, "mainFileSize": len("changes")}
            write(changes.with_name(f"{changes.name}.crc"), json.dumps(sums))
        if stateful:
            self._describe_state(folder / "state" / "0")

    def _describe_state(self, operator: Path) -> None:
        """Write the files with the operator's name, and with the types of keys and values."""
        write(operator / "_metadata" / "metadata", 'v1\n{"operatorInfo":{"operatorId":0}}')
        types = "\0\0\0\1\0\2{}"  # one text of two bytes
        write(operator / "0" / "_metadata" / "schema", f"\0\2v2{types}{types}")

    def store(self, job: Job) -> None:
        """Store a changed job."""
        with closing(Store(self.path / "jetsql.db")) as store:
            store.save(job, store.history(job.id)[0])

    def manifest(self, job: Job, batch: int, *, staged: bool = False, sink: int = 0) -> Path:
        """Write the manifest of a batch of one file, and the file if it is staged; return the manifest."""
        table = job.plan.analysis.sinks[sink].location
        staging = f"{table}/.jetsql/{job.id}{f'-sink{sink}' if sink else ''}/{batch:09d}"
        fields = {"batch": batch, "location": table, "staging": staging, "rows": 1, "format": 1}
        moves = [{"source": "part-0.parquet", "target": "part-1.parquet"}]
        if staged:
            write(Path(staging.removeprefix("file:")) / "part-0.parquet", "rows")
        path = self.path / "checkpoints" / job.id / f"manifests{f'-{sink}' if sink else ''}" / f"{batch:09d}.json"
        return write(path, json.dumps({**fields, "moves": moves}))
