"""A user without ADMIN has tables at the locations of its USAGE, and reaches no file elsewhere by them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jetsql.jobs.model.job import Status
from tests.support.rights.job_users import JobUsers, job_users
from tests.support.rights.restricted_session import CANARY

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance

pytestmark = pytest.mark.spark
_LINE = json.dumps({"id": 1, "salary_column": CANARY}) + "\n"


class Places:
    """The folder `inside`, on which ann has USAGE, and the folder `outside` next to it, which has a canary."""

    def __init__(self, users: JobUsers, folder: Path) -> None:
        self.users = users
        self.run = users.run
        self.inside = folder / "inside"
        self.outside = folder / "outside"
        self.inside.mkdir()
        self.outside.mkdir()
        (self.outside / "pay.json").write_text(_LINE)
        (self.inside / "rows").mkdir()
        (self.inside / "rows" / "a.json").write_text('{"id": 7}\n')

    @property
    def names(self) -> dict[str, str]:
        engine = self.users.engine
        return {
            "in": str(self.inside),
            "out": str(self.outside),
            "home": str(engine.home),
            "folder": str(self.inside.parent),
            "warehouse": self.users.ann.places["warehouse"],
        }

    def fill(self, text: str) -> str:
        for name, place in self.names.items():
            text = text.replace("{" + name + "}", place)
        return text

    def ann(self, text: str) -> list[tuple[object, ...]]:
        return self.run(self.fill(text), "ann")

    def refusal(self, text: str, user: str = "ann") -> str:
        with pytest.raises((PySparkException, Py4JError)) as caught:
            self.run(self.fill(text), user)
        shown = str(caught.value)
        assert CANARY not in shown and "salary_column" not in shown
        return shown

    def plant_log(self, folder: Path, *files: Path) -> None:
        """Write the log of a sink of Spark into a folder, as a program with access to the folder could."""
        log = folder / "_spark_metadata"
        log.mkdir(parents=True)
        rows = [
            {
                "path": file.as_uri(),
                "size": file.stat().st_size,
                "isDir": False,
                "modificationTime": 0,
                "blockReplication": 1,
                "blockSize": 1,
                "action": "add",
            }
            for file in files
        ]
        (log / "0").write_text("v1\n" + "\n".join(map(json.dumps, rows)))


@pytest.fixture(scope="module")
def users(engine: EngineInstance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobUsers]:
    with job_users(engine, tmp_path_factory.mktemp("restricted")) as users:
        yield users


@pytest.fixture
def places(users: JobUsers) -> Iterator[Places]:
    """Yield the folders. Tables of the test are dropped at its end.

    They are on a disk: no right opens a folder in /dev, where the files of other tests can be.
    """
    with tempfile.TemporaryDirectory(prefix="places-", dir="/var/tmp") as folder:
        folders = Places(users, Path(folder))
        users.run(f"GRANT USAGE ON LOCATION 'file://{folders.inside}' TO ann")
        yield folders
        users.ann.drop_jobs()
        for row in users.run("SHOW TABLES IN own"):
            users.run(f"DROP TABLE own.{row[1]}")
        users.run(f"REVOKE USAGE ON LOCATION 'file://{folders.inside}' FROM ann")


# --- what works -------------------------------------------------------------------------------------------------------


def test_tables_below_a_location_are_read_and_written(places: Places) -> None:
    places.ann("CREATE TABLE own.rows (id INT) USING json LOCATION '{in}/rows'")
    assert places.ann("SELECT * FROM own.rows") == [(7,)]
    places.ann("INSERT INTO own.rows VALUES (8)")
    assert sorted(places.ann("SELECT * FROM own.rows")) == [(7,), (8,)]
    places.ann("INSERT OVERWRITE own.rows VALUES (9)")
    assert places.ann("SELECT * FROM own.rows") == [(9,)]
    places.ann("CREATE TABLE own.copied USING parquet LOCATION 'file:{in}/copied/' AS SELECT * FROM own.rows")
    places.ann("CREATE TABLE own.again USING parquet LOCATION 'file://{in}/copied'")
    assert places.ann("SELECT id FROM own.again") == [(9,)]
    places.ann(
        "CREATE TABLE own.texts (id INT, t STRING) USING csv OPTIONS ('header' = 'true', sep ';') LOCATION '{in}/texts'"
    )
    places.ann("INSERT INTO own.texts VALUES (1, 'a')")
    [file] = (places.inside / "texts").glob("part-*.csv")
    assert file.read_text() == "id;t\n1;a\n"
    places.ann("DROP TABLE own.texts")
    assert file.exists()


def test_partitions_are_found_by_the_owner(places: Places) -> None:
    (places.inside / "parts" / "p=3").mkdir(parents=True)
    (places.inside / "parts" / "p=3" / "a.json").write_text('{"id": 1}\n')
    places.ann("CREATE TABLE own.parts (id INT, p INT) USING json PARTITIONED BY (p) LOCATION '{in}/parts'")
    places.ann("MSCK REPAIR TABLE own.parts")
    assert places.ann("SELECT * FROM own.parts") == [(1, 3)]
    places.ann("INSERT INTO own.parts VALUES (2, 4)")
    places.ann("ALTER TABLE own.parts RECOVER PARTITIONS")
    assert sorted(places.ann("SELECT * FROM own.parts")) == [(1, 3), (2, 4)]


def test_jobs_read_and_write_below_a_location(places: Places) -> None:
    places.ann("CREATE TABLE own.rows (id INT) USING json LOCATION '{in}/rows'")
    places.ann("CREATE TABLE own.copy (id INT) USING parquet LOCATION '{in}/copy'")
    places.ann("CREATE JOB j AS INSERT INTO own.copy SELECT * FROM STREAM own.rows")
    places.ann("WAIT FOR JOB j UNTIL IDLE")
    assert places.ann("SELECT * FROM own.copy") == [(7,)]
    places.ann(
        "CREATE MATERIALIZED VIEW own.totals USING parquet LOCATION '{in}/totals' AS SELECT count(*) AS n FROM own.rows"
    )
    places.ann("WAIT FOR JOB `own.totals` UNTIL COMPLETED")
    assert places.ann("SELECT * FROM own.totals") == [(1,)]


def test_revoke_ends_the_tables_and_suspends_their_jobs(places: Places) -> None:
    places.ann("CREATE TABLE own.rows (id INT) USING json LOCATION '{in}/rows'")
    places.ann("CREATE TABLE own.copy (id INT) USING parquet LOCATION '{in}/copy'")
    places.run("GRANT SELECT ON TABLE own.rows TO bob")
    assert places.run("SELECT * FROM own.rows", "bob") == [(7,)]
    places.ann("CREATE JOB j AS INSERT INTO own.copy SELECT * FROM STREAM own.rows")
    places.run(places.fill("REVOKE USAGE ON LOCATION 'file:{in}' FROM ann"))
    try:
        assert places.users.job("j").status is Status.SUSPENDED
        for user in ("ann", "bob"):
            assert "no right USAGE on the location" in places.refusal("SELECT * FROM own.rows", user)
        for text in ("INSERT INTO own.copy VALUES (1)", "INSERT OVERWRITE own.copy VALUES (1)"):
            assert "no right USAGE on the location" in places.refusal(text)
        assert "NOT_ALLOWED" in places.refusal("RESUME JOB j")
    finally:
        places.run(places.fill("GRANT USAGE ON LOCATION 'file:{in}' TO ann"))
    places.ann("RESUME JOB j")


# --- which locations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "location",
    [
        "{out}",
        "file:{out}",
        "{folder}",
        "/",
        "file:/",
        "{in}x",
        "{in}/../outside",
        "file:{in}/../outside",
        "{in}/./../outside",
        "{in}//rows",
        "FILE:{in}/rows",
        "file://localhost{in}/rows",
        "//localhost{in}/rows",
        "file://{in}/%2e%2e/outside",
        "{in}/%2E%2E/outside",
        "{in}/*",
        "{in}/{rows,..}",
        "{in}/[a-z]",
        "{in}/r?ws",
        "{in}/\\\\..",
        "",
        "rows",
        "../inside/rows",
        "s3a:{in}/rows",
        "s3a://bucket/in",
        "hdfs:{in}/rows",
        "webhdfs://host{in}/rows",
        "http://127.0.0.1:1{in}",
        "har://file-{in}/rows",
        "{home}",
        "{warehouse}/hr.db/pay",
        "/proc/self",
    ],
)
def test_locations_without_the_right_are_refused(places: Places, location: str) -> None:
    text = "CREATE TABLE own.t (id INT, salary_column STRING) USING json LOCATION '" + location + "'"
    message = places.refusal(text)
    assert "NOT_ALLOWED" in message or location == ""
    assert places.users.ann.run_as_owner("SHOW TABLES IN own") == []


@pytest.mark.parametrize("granted", ["file:/", "{home}", "{warehouse}", "{home}/checkpoints"])
def test_no_grant_opens_files_of_the_engine(places: Places, granted: str) -> None:
    url = granted if granted.startswith("file:") else places.fill("file:" + granted)
    places.run(f"GRANT USAGE ON LOCATION '{url}' TO ann")
    try:
        for place in (
            "{home}",
            "/",
            "{warehouse}",
            "{warehouse}/hr.db/pay",
            "{home}/checkpoints/x",
            "/proc/self",
            "/proc",
        ):
            message = places.refusal(f"CREATE TABLE own.t (x STRING) USING csv LOCATION '{place}'")
            assert "files of the engine" in message or "no right USAGE" in message
        link = places.inside / "home"
        link.symlink_to(places.names["home"])
        message = places.refusal("CREATE TABLE own.t (x STRING) USING csv LOCATION '{in}/home'")
        assert "leads out of a location" in message
        assert "leads out of" in places.refusal("CREATE TABLE own.t (x STRING) USING csv LOCATION '{in}'")
    finally:
        places.run(f"REVOKE USAGE ON LOCATION '{url}' FROM ann")


def test_file_of_a_secret_stays_out_of_reach(places: Places) -> None:
    (places.inside / "keys").mkdir()
    (places.inside / "keys" / "password").write_text(CANARY)
    places.run(places.fill("CREATE SECRET key FROM FILE '{in}/keys/password'"))
    try:
        for place in ("{in}", "{in}/keys", "{in}/keys/password"):
            message = places.refusal(f"CREATE TABLE own.t (x STRING) USING csv LOCATION '{place}'")
            assert "files of the engine" in message
        places.ann("CREATE TABLE own.t (id INT) USING json LOCATION '{in}/rows'")
    finally:
        places.run("DROP SECRET key")


@pytest.mark.parametrize(
    "clauses",
    [
        "LOCATION '{in}/rows'",
        "USING text LOCATION '{in}/rows'",
        "USING binaryFile LOCATION '{in}/rows'",
        "USING avro LOCATION '{in}/rows'",
        "USING xml LOCATION '{in}/rows'",
        "USING delta LOCATION '{in}/rows'",
        "USING iceberg LOCATION '{in}/rows'",
        "USING org.apache.spark.sql.execution.datasources.text.TextFileFormat LOCATION '{in}/rows'",
        "STORED AS TEXTFILE LOCATION '{in}/rows'",
        "USING json OPTIONS ('path' = '{out}')",
        "USING json OPTIONS ('path' = '{out}') LOCATION '{in}/rows'",
        "USING json OPTIONS ('paths' = '[\"{out}\"]') LOCATION '{in}/rows'",
        "USING json OPTIONS ('basePath' = '{out}') LOCATION '{in}/rows'",
        "USING json OPTIONS ('cleanSource' = 'archive', 'sourceArchiveDir' = '{out}') LOCATION '{in}/rows'",
        "USING json OPTIONS ('fs.file.impl' = 'org.apache.hadoop.fs.RawLocalFileSystem') LOCATION '{in}/rows'",
        "USING json OPTIONS ('compression' = 'dev.jetsql.files.LocalFiles') LOCATION '{in}/rows'",
        "USING json OPTIONS ('io.compression.codecs' = 'x') LOCATION '{in}/rows'",
        "USING json OPTIONS ('avroSchemaUrl' = 'file:{out}/pay.json') LOCATION '{in}/rows'",
        "USING parquet OPTIONS ('parquet.crypto.factory.class' = 'x') LOCATION '{in}/rows'",
        "USING json OPTIONS ('header' = 'secret:file:{out}/pay.json') LOCATION '{in}/rows'",
        "USING json LOCATION '{in}/rows' TBLPROPERTIES ('path' = '{out}')",
    ],
)
def test_formats_and_options_that_name_files_are_refused(places: Places, clauses: str) -> None:
    message = places.refusal(f"CREATE TABLE own.t (id INT, t STRING) {clauses}")
    assert "NOT_ALLOWED" in message or "Duplicated table paths" in message


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE own.t SET LOCATION '{out}'",
        "ALTER TABLE own.t SET LOCATION '{in}/rows'",
        "ALTER TABLE own.t ADD PARTITION (p = 1) LOCATION '{out}'",
        "ALTER TABLE own.t SET SERDEPROPERTIES ('path' = '{out}')",
        "ALTER TABLE own.t SET TBLPROPERTIES ('path' = '{out}')",
        "CREATE TABLE own.u LIKE own.t LOCATION '{out}'",
        "CREATE SCHEMA more LOCATION '{in}'",
        "INSERT OVERWRITE DIRECTORY '{in}/dir' USING json SELECT 1",
        "SELECT * FROM json.`{in}/rows`",
        "SELECT * FROM own.t WITH ('path' = '{out}')",
        "LOAD DATA INPATH '{out}/pay.json' INTO TABLE own.t",
        "CREATE TEMPORARY VIEW v USING json OPTIONS (path '{in}/rows')",
        "SELECT _metadata.file_path FROM own.t",
        "SELECT input_file_name() FROM own.t",
    ],
)
def test_table_at_a_location_opens_no_other_folder(places: Places, text: str) -> None:
    places.ann("CREATE TABLE own.t (id INT, p INT) USING json PARTITIONED BY (p) LOCATION '{in}/t'")
    places.refusal(text)


# --- what is in the folder --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "columns", "options"),
    [
        ("pay.json", "id INT, salary_column STRING", "OPTIONS ('recursiveFileLookup' = 'true')"),
        ("p=1/pay.json", "id INT, salary_column STRING, p INT", ""),
    ],
)
def test_log_of_a_sink_names_no_file_elsewhere(places: Places, file: str, columns: str, options: str) -> None:
    hidden = places.outside / file
    hidden.parent.mkdir(exist_ok=True)
    hidden.write_text(_LINE)
    places.plant_log(places.inside / "t", hidden)
    places.ann(f"CREATE TABLE own.t ({columns}) USING json {options} LOCATION '{{in}}/t'")
    message = "names a file outside of the location"
    for text in ("SELECT * FROM own.t", "SELECT count(*) FROM own.t"):
        assert "NOT_ALLOWED" in places.refusal(text)
    assert message in places.refusal("SELECT * FROM own.t", "owner")
    assert message in places.refusal("CREATE TABLE own.u AS SELECT * FROM own.t", "owner")
    places.ann("CREATE TABLE own.sink (id INT, t STRING) USING json LOCATION '{in}/sink'")
    with pytest.raises((PySparkException, Py4JError)) as caught:
        places.ann("CREATE JOB j AS INSERT INTO own.sink SELECT id, salary_column FROM STREAM own.t")
    assert CANARY not in str(caught.value)
    assert places.ann("SELECT * FROM own.sink") == []


def test_log_that_is_a_link_shows_no_file(places: Places) -> None:
    log = places.inside / "t" / "_spark_metadata"
    log.mkdir(parents=True)
    (log / "0").symlink_to(places.outside / "pay.json")
    for columns in ("", "(id INT, salary_column STRING)"):
        text = f"CREATE TABLE own.t {columns} USING json LOCATION '{{in}}/t'"
        with pytest.raises((PySparkException, Py4JError)) as caught:
            places.ann(text)
        assert CANARY not in str(caught.value)
    assert "leads out of" in str(caught.value)
    (log / "0").unlink()
    log.rmdir()
    log.symlink_to(places.outside)
    assert "leads out of" in places.refusal("CREATE TABLE own.u (id INT) USING json LOCATION '{in}/t'")


def test_footer_of_parquet_names_no_file_elsewhere(places: Places) -> None:
    rows = pyarrow.table({"salary_column": [CANARY]})
    pq.write_table(rows, places.outside / "pay.parquet")
    metadata = pq.read_metadata(places.outside / "pay.parquet")
    metadata.set_file_path(str(places.outside / "pay.parquet"))
    (places.inside / "t").mkdir()
    for name in ("_metadata", "_common_metadata", "a.parquet"):
        metadata.write_metadata_file(places.inside / "t" / name)
    places.ann("CREATE TABLE own.t (salary_column STRING) USING parquet LOCATION '{in}/t'")
    try:
        assert CANARY not in str(places.ann("SELECT * FROM own.t"))
    except (PySparkException, Py4JError) as error:
        assert CANARY not in str(error)


def test_log_of_a_sink_names_files_of_the_table(places: Places) -> None:
    places.plant_log(places.inside / "rows", places.inside / "rows" / "a.json")
    places.ann("CREATE TABLE own.t (id INT) USING json LOCATION '{in}/rows'")
    assert places.ann("SELECT * FROM own.t") == [(7,)]


def test_log_of_a_sink_gives_no_columns(places: Places) -> None:
    places.plant_log(places.inside / "t", places.outside / "pay.json")
    options = "OPTIONS ('recursiveFileLookup' = 'true')"
    places.refusal(f"CREATE TABLE own.t USING json {options} LOCATION '{{in}}/t'")
    (places.inside / "t" / "a.json").write_text('{"shown": 1}\n')
    places.ann("CREATE TABLE own.t USING json LOCATION '{in}/t'")
    assert places.ann("SHOW COLUMNS IN own.t") == [("shown",)]


def test_log_that_appears_in_the_folder_of_a_running_stream(places: Places) -> None:
    (places.inside / "t").mkdir()
    options = "OPTIONS ('recursiveFileLookup' = 'true')"
    places.ann(f"CREATE TABLE own.t (id INT, salary_column STRING) USING json {options} LOCATION '{{in}}/t'")
    places.ann("CREATE TABLE own.sink (id INT, t STRING) USING json LOCATION '{in}/sink'")
    places.ann("CREATE JOB j AS INSERT INTO own.sink SELECT * FROM STREAM own.t")
    places.plant_log(places.inside / "t", places.outside / "pay.json")
    places.refusal("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60 SECONDS")
    assert CANARY not in "".join(file.read_text() for file in places.inside.rglob("*.json"))


def test_links_lead_to_no_other_folder(places: Places) -> None:
    rows = places.inside / "rows"
    places.ann("CREATE TABLE own.t (id INT, salary_column STRING) USING json LOCATION '{in}/rows'")
    assert places.ann("SELECT id FROM own.t") == [(7,)]
    for link, target in (("b.json", places.outside / "pay.json"), ("p=1", places.outside)):
        (rows / link).symlink_to(target)
        for user in ("ann", "owner"):
            assert "leads out of" in places.refusal("REFRESH TABLE own.t", user)
        assert "leads out of" in places.refusal("CREATE TABLE own.u USING json LOCATION '{in}/rows'")
        (rows / link).unlink()
    (rows / "c.json").symlink_to(rows / "a.json")
    places.ann("REFRESH TABLE own.t")
    assert places.ann("SELECT id FROM own.t") == [(7,), (7,)]
    (places.inside / "other").symlink_to(places.outside)
    assert "leads out of" in places.refusal("CREATE TABLE own.u (id INT) USING json LOCATION '{in}/other'")
    assert "leads out of" in places.refusal("CREATE TABLE own.u (id INT) USING json LOCATION '{in}/other/new'")


@pytest.mark.parametrize("name", ["_SUCCESS", "_temporary", "p=2"])
def test_writes_follow_no_link(places: Places, name: str) -> None:
    folder = places.inside / "t"
    folder.mkdir()
    places.ann("CREATE TABLE own.t (id INT, p INT) USING json PARTITIONED BY (p) LOCATION '{in}/t'")
    (folder / name).symlink_to(places.outside / ("new" if name == "_SUCCESS" else ""))
    before = set(places.outside.iterdir())
    for text in ("INSERT INTO own.t VALUES (1, 2)", "INSERT OVERWRITE own.t VALUES (1, 2)"):
        try:
            places.ann(text)
        except (PySparkException, Py4JError) as error:
            assert "leads out of" in str(error)
        assert set(places.outside.iterdir()) == before
    assert (places.outside / "pay.json").read_text() == _LINE


def test_job_that_replaces_a_table_needs_the_folder_around_it(places: Places) -> None:
    places.ann("CREATE TABLE own.rows (id INT) USING json LOCATION '{in}/rows'")
    places.ann("CREATE TABLE own.all (id INT) USING parquet LOCATION '{in}'")
    message = places.refusal("CREATE JOB j AS INSERT OVERWRITE own.all SELECT * FROM own.rows")
    assert "no right USAGE on the location" in message and "grant the folder around it" in message
    places.ann("CREATE TABLE own.below (id INT) USING parquet LOCATION '{in}/below'")
    places.ann("CREATE JOB j AS INSERT OVERWRITE own.below SELECT * FROM own.rows")
    places.ann("WAIT FOR JOB j UNTIL COMPLETED")
    assert places.ann("SELECT * FROM own.below") == [(7,)]
