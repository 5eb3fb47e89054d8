"""Users read, change and maintain the Delta and Iceberg tables of their rights, and reach nothing else by them."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.hypothesis_profiles import seed
from tests.support.rights.restricted_session import CANARY, HIDDEN
from tests.support.rights.statement_walk import Walk
from tests.support.tables.lake_tables import CATALOG, ENGINES
from tests.support.tables.lake_users import LakeUsers, lake_users

# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]
_LOG: Final = logging.getLogger(__name__)
_SECONDS: Final = float(os.environ.get("JETSQL_RIGHTS_SECONDS", "60"))
_CALL: Final = "reflect('java.lang.System', 'setProperty', 'jetsql.canary', 'x')"
_CHANGES: Final = (
    "UPDATE {c}.s.orders SET name = 'x' WHERE id = 1",
    "DELETE FROM {c}.s.orders WHERE id = 3",
    "MERGE INTO {c}.s.orders o USING (SELECT 1 AS id, 'm' AS name) n ON o.id = n.id WHEN MATCHED THEN UPDATE SET *"
    " WHEN NOT MATCHED THEN INSERT *",
    "INSERT OVERWRITE {c}.s.orders VALUES (4, 'd'), (5, 'e')",
    "TRUNCATE TABLE {c}.s.orders",
)
_MAINTENANCE: Final = {
    "delta": (
        "OPTIMIZE {c}.s.orders",
        "OPTIMIZE {c}.s.orders ZORDER BY (id)",
        "VACUUM {c}.s.orders",
        "VACUUM {c}.s.orders DRY RUN",
        "RESTORE TABLE {c}.s.orders TO VERSION AS OF 1",
    ),
    "iceberg": (
        "CALL {c}.system.rewrite_data_files(table => 's.orders', where => 'id > 0')",
        "CALL {c}.system.rewrite_manifests('s.orders')",
        "CALL {c}.system.rewrite_position_delete_files('{c}.s.orders')",
        "CALL {c}.system.expire_snapshots(table => 's.orders', older_than => TIMESTAMP '2000-01-01')",
        "CALL {c}.system.rollback_to_timestamp('s.orders', current_timestamp())",
    ),
}
_READS: Final = {
    "delta": ("DESCRIBE HISTORY {c}.s.orders", "SELECT count(*) FROM {c}.s.orders VERSION AS OF 1"),
    "iceberg": (
        "SELECT count(*) FROM {c}.s.orders VERSION AS OF 'main'",
        "SELECT count(*) FROM {c}.s.orders TIMESTAMP AS OF now()",
        "SELECT count(*) FROM {c}.s.orders.history",
        "SELECT count(*) FROM {c}.s.orders.refs",
        "SELECT count(*) FROM {c}.s.orders.partitions",
        "CALL {c}.system.ancestors_of('s.orders')",
    ),
}
_OF_OWNER: Final = {
    "delta": (
        "DESCRIBE DETAIL {c}.s.kept",
        "DESCRIBE HISTORY {c}.s.kept",
        "ALTER TABLE {c}.s.kept ADD COLUMNS (added INT)",
        "OPTIMIZE {c}.s.kept",
    ),
    "iceberg": (
        "ALTER TABLE {c}.s.kept CREATE BRANCH b",
        "ALTER TABLE {c}.s.kept CREATE TAG t",
        "SELECT count(*) FROM {c}.s.kept VERSION AS OF 'b'",
        "ALTER TABLE {c}.s.kept DROP BRANCH b",
        "ALTER TABLE {c}.s.kept ADD PARTITION FIELD bucket(4, id)",
        "ALTER TABLE {c}.s.kept WRITE ORDERED BY id",
        "ALTER TABLE {c}.s.kept ADD COLUMN added INT",
        "SELECT count(*) FROM {c}.s.kept.files",
        "SHOW CREATE TABLE {c}.s.kept",
        "CALL {c}.system.compute_table_stats('s.kept')",
    ),
}
_ESCAPES: Final = (
    "SELECT * FROM {c}.hr.pay",
    "SELECT * FROM {c}.hr.pay VERSION AS OF 1",
    "SELECT * FROM {c}.hr.pay TIMESTAMP AS OF current_timestamp()",
    "SELECT * FROM {format}.`{folder}/hr/pay`",
    "SELECT * FROM {format}.`{folder}/hr.db/pay` VERSION AS OF 1",
    "SELECT * FROM parquet.`{folder}/hr.db/pay`",
    "SELECT * FROM json.`{folder}/hr.db/pay/_delta_log`",
    "SELECT * FROM parquet.`{folder}/hr/pay/data`",
    "SELECT * FROM {c}.s.`../hr/pay`",
    "SELECT * FROM {c}.`s/../hr`.pay",
    "SELECT * FROM IDENTIFIER('{c}.s.`../hr/pay`')",
    "SELECT * FROM {c}.s.orders WITH ('path' = '{folder}/hr.db/pay')",
    "SELECT * FROM {c}.s.orders WITH ('snapshot-id' = '1')",
    "SELECT _metadata.file_path FROM {c}.s.orders",
    f"SELECT * FROM {{c}}.s.orders TIMESTAMP AS OF {_CALL}",
    "SELECT * FROM {c}.s.orders TIMESTAMP AS OF (SELECT max(salary_column) FROM {c}.hr.pay)",
    "DELETE FROM {c}.hr.pay",
    "DELETE FROM IDENTIFIER('{c}.hr.pay')",
    "DELETE FROM {format}.`{folder}/hr.db/pay`",
    "DELETE FROM {c}.s.orders WHERE id IN (SELECT id FROM {c}.hr.pay)",
    f"DELETE FROM {{c}}.s.orders WHERE {_CALL} = 'x'",
    "UPDATE {c}.hr.pay SET id = 2",
    "UPDATE {c}.s.orders SET name = (SELECT max(salary_column) FROM {c}.hr.pay)",
    f"UPDATE {{c}}.s.orders SET name = {_CALL}",
    "MERGE INTO {c}.hr.pay p USING (SELECT 1 AS id) n ON p.id = n.id WHEN MATCHED THEN DELETE",
    "MERGE INTO {c}.s.orders o USING {c}.hr.pay p ON o.id = p.id WHEN MATCHED THEN UPDATE SET name = p.salary_column",
    "MERGE INTO {c}.s.orders o USING (SELECT 1 AS id) n ON o.id = n.id WHEN MATCHED THEN UPDATE SET"
    " name = (SELECT max(salary_column) FROM {c}.hr.pay)",
    f"MERGE INTO {{c}}.s.orders o USING (SELECT 1 AS id) n ON {_CALL} = 'x' WHEN MATCHED THEN DELETE",
    "MERGE INTO {c}.s.orders o USING (SELECT _file FROM {c}.s.orders) n ON o.name = n._file WHEN MATCHED THEN DELETE",
    "MERGE INTO {c}.s.orders o USING (SELECT a.name FROM {c}.s.orders a JOIN {c}.s.orders b USING (_file)) n"
    " ON o.name = n.name WHEN MATCHED THEN DELETE",
    "INSERT INTO {c}.hr.pay VALUES (9, 'x')",
    "INSERT INTO {c}.s.orders SELECT id, salary_column FROM {c}.hr.pay",
    "TRUNCATE TABLE {c}.hr.pay",
    "DROP TABLE {c}.hr.pay",
    "ALTER TABLE {c}.hr.pay ADD COLUMNS (x INT)",
    "ALTER TABLE {c}.s.orders SET TBLPROPERTIES ('x' = 'y')",
    "ALTER TABLE {c}.s.kept SET TBLPROPERTIES ('write.data.path' = '{folder}/hr')",
    "ALTER TABLE {c}.s.kept SET LOCATION '{folder}/hr.db/pay'",
    f"ALTER TABLE {{c}}.s.kept ADD CONSTRAINT c CHECK ({_CALL} = 'x')",
    f"ALTER TABLE {{c}}.s.kept ADD COLUMNS (x STRING DEFAULT {_CALL})",
    "DESCRIBE {c}.hr.pay",
    "SHOW CREATE TABLE {c}.hr.pay",
    "SHOW TBLPROPERTIES {c}.hr.pay",
    "SHOW COLUMNS IN {c}.hr.pay",
)
_ESCAPES_OF: Final = {
    "delta": (
        "DESCRIBE HISTORY {c}.hr.pay",
        "DESCRIBE HISTORY '{folder}/hr.db/pay'",
        "DESCRIBE HISTORY delta.`{folder}/hr.db/pay`",
        "DESCRIBE DETAIL {c}.hr.pay",
        "DESCRIBE DETAIL {c}.s.orders",
        "DESCRIBE DETAIL '{folder}/hr.db/pay'",
        "DESCRIBE DETAIL delta.`{folder}/hr.db/pay`",
        "OPTIMIZE {c}.hr.pay",
        "OPTIMIZE '{folder}/hr.db/pay'",
        "OPTIMIZE delta.`{folder}/hr.db/pay`",
        f"OPTIMIZE {{c}}.s.orders WHERE {_CALL} = 'x'",
        "OPTIMIZE {c}.s.orders WHERE id IN (SELECT id FROM {c}.hr.pay)",
        "VACUUM {c}.hr.pay",
        "VACUUM '{folder}/hr.db/pay' RETAIN 0 HOURS",
        "VACUUM {c}.s.orders USING INVENTORY {c}.hr.pay",
        "VACUUM {c}.s.orders USING INVENTORY (SELECT salary_column AS path, 1L AS length, false AS isDir,"
        " 1L AS modificationTime FROM {c}.hr.pay)",
        "RESTORE TABLE {c}.hr.pay TO VERSION AS OF 0",
        "RESTORE TABLE delta.`{folder}/hr.db/pay` TO VERSION AS OF 0",
        f"RESTORE TABLE {{c}}.s.orders TO TIMESTAMP AS OF {_CALL}",
        "SELECT * FROM table_changes('{c}.hr.pay', 0)",
        "SELECT * FROM table_changes_by_path('{folder}/hr.db/pay', 0)",
        "CONVERT TO DELTA parquet.`{folder}/hr.db/pay`",
        "CREATE TABLE {c}.s.taken SHALLOW CLONE {c}.hr.pay",
        "CREATE TABLE {c}.s.taken SHALLOW CLONE delta.`{folder}/hr.db/pay`",
        "GENERATE symlink_format_manifest FOR TABLE {c}.hr.pay",
        "REORG TABLE {c}.hr.pay APPLY (PURGE)",
        f"CREATE TABLE {{c}}.own.made (id INT, x STRING GENERATED ALWAYS AS ({_CALL})) USING delta",
        "SELECT * FROM {c}.hr.pay@v1",
    ),
    "iceberg": (
        *(
            f"CALL {{c}}.system.{call}"
            for call in (
                "ancestors_of('hr.pay')",
                "rewrite_manifests('hr.pay')",
                "rewrite_manifests('{c}.hr.pay')",
                "rewrite_manifests(table => '{c}.hr.pay')",
                "rewrite_manifests('s.`../hr/pay`')",
                "rewrite_manifests('orders')",
                "rewrite_manifests(concat('hr', '.pay'))",
                "rewrite_data_files(table => 'hr.pay')",
                "rewrite_data_files(table => 's.orders', where => 'id IN (SELECT id FROM {c}.hr.pay)')",
                "rewrite_data_files('s.orders', 'binpack', '', map('rewrite-all', 'true'), 'id > 0')",
                "expire_snapshots(table => 'hr.pay', retain_last => 1)",
                "rollback_to_snapshot('hr.pay', 1)",
                "compute_table_stats('s.orders')",
                "remove_orphan_files(table => 's.orders', location => '{folder}/hr')",
                "add_files(table => 's.orders', source_table => '`parquet`.`{folder}/hr/pay/data`')",
                "register_table('s.taken', '{folder}/hr/pay/metadata/v1.metadata.json')",
                "snapshot('hr.pay', 's.taken')",
                "migrate('hr.pay')",
                "create_changelog_view(table => 'hr.pay')",
                "rewrite_table_path(table => 's.orders', source_prefix => '{folder}', target_prefix => '{folder}/x')",
                "nothing('hr.pay')",
            )
        ),
        f"CALL {{c}}.system.rewrite_data_files(table => 's.orders', where => \"{_CALL} = 'x'\")",
        f"CALL {{c}}.system.rollback_to_timestamp('s.orders', {_CALL})",
        "EXECUTE IMMEDIATE 'CALL {c}.system.rewrite_manifests(\\'hr.pay\\')'",
        "BEGIN CALL {c}.system.rewrite_manifests('hr.pay'); END",
        "SELECT * FROM {c}.hr.pay.files",
        "SELECT * FROM {c}.hr.pay.history",
        "SELECT * FROM {c}.hr.pay.snapshots",
        "SELECT * FROM {c}.s.orders.files",
        "SELECT * FROM {c}.s.orders.snapshots",
        "SELECT * FROM {c}.s.orders.manifests",
        "SELECT _file FROM {c}.s.orders",
        "SELECT o._file FROM {c}.s.orders o",
        "ALTER TABLE {c}.hr.pay CREATE BRANCH b",
        "ALTER TABLE {c}.s.orders CREATE BRANCH b",
        "ALTER TABLE {c}.s.orders CREATE TAG t",
        "ALTER TABLE {c}.s.orders ADD PARTITION FIELD id",
        "ALTER TABLE {c}.s.orders WRITE ORDERED BY id",
        "ALTER TABLE {c}.s.orders SET IDENTIFIER FIELDS id",
        "CREATE VIEW {c}.s.taken AS SELECT * FROM {c}.hr.pay",
        "CREATE TABLE {c}.s.taken (id INT) USING iceberg",
    ),
}


@pytest.fixture(scope="module", params=ENGINES)
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeUsers]:
    with lake_users(request.param, tmp_path_factory.mktemp(request.param)) as users:
        yield users


@pytest.fixture
def restored(lake: LakeUsers) -> Iterator[LakeUsers]:
    """Write the first rows of `orders` again, at the end."""
    yield lake
    lake.sql(lake.filled("INSERT OVERWRITE {c}.s.orders VALUES (1, 'a'), (2, 'b'), (3, 'c')"))


def test_select_reads_also_older_versions(lake: LakeUsers) -> None:
    assert lake.run("reader", "SELECT * FROM {c}.s.orders ORDER BY 1") == ("", "[(1, 'a'), (2, 'b'), (3, 'c')]")
    assert lake.run("reader", "SELECT * FROM views.counted") == ("", "[(1, 'reader')]")
    for text in (*_READS[lake.format], "EXPLAIN SELECT * FROM {c}.s.orders", "DESCRIBE EXTENDED {c}.s.orders"):
        condition, shown = lake.run("reader", text)
        assert not condition, shown
        assert not [word for word in (*HIDDEN, "predicate", "'Location'") if word in shown]


def test_changes_and_maintenance_need_modify(restored: LakeUsers) -> None:
    lake = restored
    for text in (*_CHANGES, *_MAINTENANCE[lake.format]):
        condition, shown = lake.run("reader", text)
        assert (condition, "no right MODIFY on" in shown) == ("JETSQL.NOT_ALLOWED", True), (text, shown)
    for text in ("UPDATE IDENTIFIER('{c}.s.orders') SET name = 'x'", "DELETE FROM IDENTIFIER('{c}.s.orders')"):
        condition, shown = lake.run("reader", text)
        assert (condition, "no right MODIFY on" in shown) == ("JETSQL.NOT_ALLOWED", True), (text, shown)
    for text in (*_CHANGES[:4], *_MAINTENANCE[lake.format], *_CHANGES[4:]):
        condition, shown = lake.run("writer", text)
        assert not condition, (text, shown)


def test_owner_changes_the_table(lake: LakeUsers) -> None:
    for text in _OF_OWNER[lake.format]:
        condition, shown = lake.run("writer", text.replace("s.kept", "s.orders"))
        if "OPTIMIZE" not in text and "SELECT" not in text and "HISTORY" not in text:
            assert (condition, "no right OWNER on" in shown) == ("JETSQL.NOT_ALLOWED", True), (text, shown)
        condition, shown = lake.run("keeper", text)
        assert not condition, (text, shown)


@pytest.mark.parametrize("user", ["reader", "writer", "keeper"])
def test_nothing_else_is_reached(restored: LakeUsers, user: str) -> None:
    lake = restored
    for text in (*_ESCAPES, *_ESCAPES_OF[lake.format]):
        condition, shown = lake.run(user, text)
        assert condition, (text, shown)
        assert not [word for word in HIDDEN if word in shown and word not in text], (text, shown)
    assert lake.sql(lake.filled("SELECT * FROM {c}.hr.pay")) == [(1, CANARY)]
    assert not [path for path in lake.folder.rglob("*") if "taken" in path.name]


def test_hidden_table_has_the_error_of_a_missing_one(lake: LakeUsers) -> None:
    texts = ["SELECT * FROM {c}.hr.{t}", "DELETE FROM {c}.hr.{t}", "SELECT * FROM {c}.hr.{t} VERSION AS OF 1"]
    texts += ["OPTIMIZE {c}.hr.{t}", "VACUUM {c}.hr.{t}", "DESCRIBE HISTORY {c}.hr.{t}", "DESCRIBE DETAIL {c}.hr.{t}"]
    texts += ["CALL {c}.system.rewrite_manifests('hr.{t}')", "ALTER TABLE {c}.hr.{t} CREATE BRANCH b"]
    for text in texts:
        hidden, missing = (lake.run("reader", text.replace("{t}", name)) for name in ("pay", "gap"))
        assert hidden[0] == missing[0] != ""
        assert hidden[1].replace("pay", "NAME") == missing[1].replace("gap", "NAME"), text


def test_random_statements_find_nothing(restored: LakeUsers) -> None:
    lake, walk = restored, Walk(seed() or 48)
    secret = lake.folder.parent / "secret.txt"
    secret.write_text(CANARY)
    places = {"file": str(secret), "folder": str(secret.parent), "port": "1", "warehouse": str(lake.folder)}
    deadline = time.monotonic() + _SECONDS
    tried = errors = 0
    while time.monotonic() < deadline:
        text = walk.next()
        for name, place in places.items():
            text = text.replace("{" + name + "}", place)
        if not lake.is_delta:
            text = re.sub(r"(?<![\w.`/])(hr|s)\.", rf"{CATALOG}.\1.", text)
        tried += 1
        condition, shown = lake.run(("reader", "writer", "keeper")[tried % 3], text)
        errors += bool(condition)
        assert not [word for word in HIDDEN if word in shown and word not in text], (tried, text, shown)
    _LOG.info("%s statements, of which %s were refused or failed", tried, errors)
    assert lake.sql(lake.filled("SELECT * FROM {c}.hr.pay")) == [(1, CANARY)]
    assert tried > errors > 0
