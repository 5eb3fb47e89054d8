"""Completion: the suggestions for a text in which | is the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from jetsql.completion.candidates import Candidate, CandidateKind
from jetsql.completion.known_names import TEMPORARY, JobName, KnownName, Names, SnapshotName, TableKey, TableName
from jetsql.jobs.model.job import Status
from jetsql.jobs.planning.options import OPTIONS
from jetsql.shell.input.command_table import COMMANDS, ArgumentKind
from jetsql.shell.repl.complete_entries import argument_at
from jetsql.shell.repl.complete_entries import complete_entry as complete
from tests.support.hypothesis_profiles import examples

NAMES = Names(
    schema="default",
    schemas=("default", "jetsql", "sales"),
    tables={
        TEMPORARY: (TableName("draft", is_view=True),),
        "default": (
            TableName("orders"),
            TableName("my table"),
            TableName("big_orders"),
            TableName("recent", is_view=True),
            TableName("job"),
        ),
        "sales": (TableName("invoices"), TableName("open_invoices", is_view=True)),
        "jetsql": (TableName("jobs", is_view=True), TableName("metrics", is_view=True)),
    },
    columns={
        TableKey("default", "orders"): (
            KnownName("id", "bigint"),
            KnownName("customer", "string"),
            KnownName("amount", "double"),
            KnownName("address", "struct<street:string,geo:struct<lat:double,lon:decimal(9,6)>,`zip code`:string>"),
        ),
        TableKey("default", "big_orders"): (KnownName("id", "bigint"), KnownName("total", "double")),
        TableKey("default", "my table"): (KnownName("a b", "int"), KnownName("from", "int")),
        TableKey("sales", "invoices"): (KnownName("number", "int"), KnownName("due", "date")),
        TableKey("jetsql", "jobs"): (KnownName("name", "string"), KnownName("status", "string")),
        TableKey(TEMPORARY, "draft"): (KnownName("note", "string"),),
    },
    functions=(KnownName("count"), KnownName("concat"), KnownName("sum"), KnownName("upper")),
    confs=(KnownName("spark.sql.ansi.enabled", "Errors instead of NULL."), KnownName("spark.sql.shuffle.partitions")),
    jobs=(
        JobName("0004", "totals", Status.RUNNING),
        JobName("0003", "late totals", Status.SUSPENDED),
        JobName("0002", "broken", Status.FAILED),
        JobName("0001", "totals", Status.COMPLETED),
    ),
    snapshots=(SnapshotName("noon", "totals"), SnapshotName("before noon", "totals")),
    alerts=(KnownName("stopped", "on job totals"), KnownName("on call", "on all jobs")),
)


def at(marked: str) -> tuple[Candidate, ...]:
    before, _, behind = marked.partition("|")
    return complete(before + behind, len(before), NAMES)


def texts(marked: str, *sorts: CandidateKind) -> list[str]:
    """Return the candidates' texts: of the given kinds, or of all kinds except functions."""
    found = at(marked)
    return [each.text for each in found if (each.kind in sorts if sorts else each.kind is not CandidateKind.FUNCTION)]


# The whole offer, without functions; words in any order.
KAFKA = "CREATE TABLE k (a INT) USING kafka OPTIONS ("
WHOLE = [
    # options of Kafka tables
    (KAFKA + "'value.f|", "'value.format' = "),
    (KAFKA + "'key.|'", "'key.format, 'key.columns"),
    (KAFKA + "'key.format' = '|", "'json', 'csv', 'avro', 'raw'"),
    (KAFKA + "topic 'o', 'failOnDataLoss' |", "'true', 'false'"),
    (KAFKA + "kafka.bootstrap.servers 'k:9092', 'kafka.iso|", "'kafka.isolation.level' = "),
    (KAFKA + "'topic' = 'o', 'topi|", ""),
    (KAFKA + "'kafka.transactional|", ""),
    ("CREATE TABLE k (a INT) USING json OPTIONS ('value.f|", ""),
    ("CREATE STREAMING TABLE k (a INT) USING kafka OPTIONS ('on.error' = 's|", "'skip'"),
    # jobs that the verb makes sense for
    ("SUSPEND JOB |", "totals"),
    ("SUSPEND JOB t|", "totals"),
    ("SUSPEND JOB T|", "totals"),
    ("SUSPEND JOB x|", ""),
    ("RESUME JOB |", "`late totals`"),
    ("RESUME JOB l|", "`late totals`"),
    ("RESUME JOB `l|", "`late totals`"),
    ("RESUME JOB `l|`", "`late totals"),
    ("RESUME JOB `|`;", "`late totals"),
    ("RESTART JOB |", "totals"),
    ("DROP JOB |", "totals, `late totals`, IF"),
    ("drop job |", "totals, `late totals`, if"),
    ("DROP JOB IF EXISTS b|", ""),
    ("DESCRIBE JOB |", "totals, `late totals`, broken, EXTENDED"),
    ("DESC JOB EXTENDED |", "totals, `late totals`, broken"),
    ("SHOW CREATE JOB |", "totals, `late totals`, broken"),
    ("SHOW JOB HISTORY b|", "broken"),
    ("WAIT FOR JOB |", "totals, `late totals`"),
    ("CREATE SNAPSHOT s FOR JOB |", "totals, `late totals`"),
    ("SHOW SNAPSHOTS FOR JOB b|", "broken"),
    ("ALTER JOB |", "totals, `late totals`"),
    # alerts, and the jobs that they are about
    ("DROP ALERT |", "stopped, `on call`, IF"),
    ("DROP ALERT IF EXISTS s|", "stopped"),
    ("ALTER ALERT |", "stopped, `on call`"),
    ("alter alert `o|", "`on call`"),
    ("SHOW CREATE ALERT |", "stopped, `on call`"),
    ("CREATE OR REPLACE ALERT s|", "stopped"),
    ("CREATE ALERT |", "IF"),
    ("CREATE ALERT a ON JOB |", "totals, `late totals`, broken, ALL"),
    ("CREATE ALERT a ON JOB '|", "'0004', '0003', '0002', '0001'"),
    ("SUSPEND JOB '|", "'0004'"),
    ("SUSPEND JOB '|'", "'0004"),
    ('DESCRIBE JOB "000|', '"0004", "0003", "0002", "0001"'),
    ("SUSPEND JOB '1|", ""),
    # what the grammar takes next
    ("ALTER JOB totals |", "OWNER, SUSPEND, RESTART"),
    ("ALTER JOB `late totals` |", "OPTIONS, OWNER, RESUME"),
    ("ALTER JOB `LATE totals` r|", "resume"),
    ("ALTER JOB '0003' |", "OPTIONS, OWNER, RESUME"),
    ("ALTER JOB broken |", "OWNER"),
    ("ALTER JOB unheard_of |", "OPTIONS, OWNER, RESTART, RESUME, SUSPEND"),
    ("alter job unheard_of s|", "suspend"),
    ("CREATE JOB x |", "AS, COMMENT, OPTIONS, START_MODE"),
    ("create job x |", "as, comment, options, start_mode"),
    ("create job x A|", "AS"),
    ("CREATE JOB |", "IF"),
    ("CREATE JOB IF |", "NOT"),
    ("CREATE OR REPLACE JOB |", "totals, `late totals`, IF"),
    ("CREATE OR REPLACE SNAPSHOT n|", "noon"),
    ("CREATE SNAPSHOT |", ""),
    ("DROP SNAPSHOT |", "noon, `before noon`, IF"),
    ("DROP JOB totals WITH SNAPSHOT |", ""),
    ("WAIT FOR JOB totals |", "TIMEOUT, UNTIL"),
    ("WAIT FOR JOB totals UNTIL |", "BATCH, COMPLETED, IDLE"),
    ("wait for job totals until i|", "idle"),
    ("WAIT FOR JOB totals TIMEOUT 5 |", "SECOND, SECONDS"),
    ("SHOW JOBS |", "LIKE"),
    ("SHOW JOBS LIKE |", ""),
    ("SHOW ALL |", "JOBS"),
    ("SUSPEND JOBS |", ""),
    ("SUSPEND JOB totals |", ""),
    ("CREATE JOB x AS |", "AUTO CDC INTO, CREATE TABLE, INSERT INTO, INSERT OVERWRITE, SINK INTO, WITH"),
    ("CREATE JOB x AS si|", "sink into"),
    # options
    ("CREATE JOB x OPTIONS ('tr|", "'trigger' = "),
    ("CREATE CONNECTION x TYPE jdbc OPTIONS ('ur|", "'url' = "),
    ("ALTER CONNECTION x OPTIONS ('tr|", ""),
    ("CREATE JOB x OPTIONS ('tr|')", "'trigger"),
    ("CREATE JOB x OPTIONS ('tr|' = 'interval')", "'trigger"),
    ("CREATE JOB x OPTIONS ('TR|", "'trigger' = "),
    ("CREATE JOB x OPTIONS ('trigger' = 'interval', 'tr|", ""),
    ("CREATE JOB x OPTIONS ('tr|', 'TRIGGER' = 'interval')", ""),
    ("CREATE JOB x OPTIONS ('initial|", "'initialSnapshotName' = "),
    ("ALTER JOB `late totals` OPTIONS ('initial|", ""),
    ("CREATE JOB x OPTIONS ('trigger' = |", "'interval', 'availableNow', 'realTime'"),
    ("CREATE JOB x OPTIONS ('trigger' = '|", "'interval', 'availableNow', 'realTime'"),
    ("CREATE JOB x OPTIONS ('TRIGGER' = 'r|')", "'realTime"),
    ('CREATE JOB x OPTIONS ("trigger" = "r|', '"realTime"'),
    ("CREATE JOB x OPTIONS ('auto_scaling' = '|'", "'true, 'false"),
    ("CREATE JOB x OPTIONS ('restartAttempts' = '|", ""),
    ("CREATE JOB x OPTIONS ('unknown' = '|", ""),
    ("CREATE JOB x OPTIONS ('initialSnapshotName' = '|", "'noon', 'before noon'"),
    ("CREATE JOB x OPTIONS ('spark.sql.a|", "'spark.sql.ansi.enabled' = "),
    ("CREATE JOB x OPTIONS ('trigger' = 'interval') |", "AS, START_MODE"),
    # the body of a job
    ("CREATE JOB x AS INSERT |", "INTO, OVERWRITE"),
    ("CREATE JOB x AS INSERT INTO o|", "orders"),
    ("CREATE JOB x AS SINK |", "INTO"),
    ("CREATE JOB x AS AUTO |", "CDC INTO"),
    ("CREATE JOB x AS AUTO CDC |", "INTO"),
    ("CREATE JOB x AS AUTO CDC INTO ord|", "orders"),
    ("CREATE JOB x AS AUTO CDC INTO orders |", "FROM"),
    ("CREATE JOB x AS AUTO CDC INTO orders FROM STREAM orders K|", "KEYS"),
    ("CREATE JOB x AS AUTO CDC INTO orders FROM STREAM orders KEYS (id) SE|", "SEQUENCE BY"),
    ("CREATE JOB x AS sink into b|", "big_orders"),
    ("CREATE JOB x AS INSERT INTO |", "orders, `my table`, big_orders, job, default, jetsql, sales"),
    ("CREATE JOB x AS INSERT INTO sales.|", "invoices"),
    ("CREATE JOB x AS INSERT INTO r|", ""),
    ("CREATE JOB x AS INSERT INTO big_orders (|", "id, total"),
    ("CREATE JOB x AS INSERT INTO big_orders (id, |", "total"),
    ("CREATE JOB x AS INSERT INTO big_orders (ID, |", "total"),
    ("CREATE JOB x AS INSERT INTO big_orders (id, t|) SELECT 1, 2", "total"),
    ("CREATE JOB x AS SINK INTO orders SELECT c| FROM STREAM orders", "customer, case, cast"),
    ("CREATE JOB x AS INSERT INTO orders SELECT * FROM STREAM b|", "big_orders"),
    ("CREATE JOB x AS WITH b AS (SELECT id FROM STREAM orders) s|", "select, sink into"),
    ("EXPLAIN CREATE JOB x AS INSERT INTO o|", "orders"),
    # tables
    ("SELECT * FROM s|", "sales, stream"),
    ("SELECT * FROM STREAM |", "orders, `my table`, big_orders, recent, job, draft, default, jetsql, sales"),
    ("SELECT * FROM STREAM(o|", "orders"),
    ("SELECT * FROM sales.|", "invoices, open_invoices"),
    ("SELECT * FROM SALES.O|", "open_invoices"),
    ("SELECT * FROM spark_catalog.sales.i|", "invoices"),
    ("SELECT * FROM `sales`.`i|", "`invoices`"),
    ("SELECT * FROM jetsql.|", "jobs, metrics"),
    ("SELECT * FROM nowhere.|", ""),
    ("SELECT * FROM m|", "`my table`"),
    ("SELECT * FROM `m|", "`my table`"),
    ("SELECT * FROM `my t|` WHERE 1 = 1", "`my table"),
    ("SELECT * FROM orders, b|", "big_orders"),
    ("SELECT * FROM orders JOIN b|", "big_orders"),
    ("SELECT * FROM orders o LEFT JOIN b|", "big_orders"),
    ("WITH w AS (SELECT 1), x AS (SELECT 2) SELECT * FROM w|", "w"),
    ("WITH big AS (SELECT 1) SELECT * FROM b|", "big, big_orders"),
    ("WITH a1 AS (SELECT 1), b1 AS (SELECT * FROM a|", "a1"),
    ("WITH a1 AS (SELECT 1) SELECT * FROM (SELECT * FROM a|", "a1"),
    ("FROM o|", "orders"),
    ("SELECT (SELECT max(id) FROM b|", "big_orders"),
    # columns
    ("SELECT o.| FROM orders o", "id, customer, amount, address, *"),
    ("SELECT o.a| FROM orders AS o", "amount, address"),
    ("SELECT orders.c| FROM orders", "customer"),
    ("SELECT O.C| FROM orders o", "customer"),
    ("SELECT b.| FROM orders o JOIN big_orders b", "id, total, *"),
    ("SELECT * FROM orders o JOIN big_orders b ON o.id = b.|", "id, total"),
    ("SELECT * FROM orders o JOIN big_orders b USING (|", "id"),
    ("SELECT i.| FROM sales.invoices i", "number, due, *"),
    ("SELECT invoices.n| FROM sales.invoices", "number"),
    ("SELECT sales.invoices.n| FROM sales.invoices", "number"),
    ("SELECT sales.i| FROM sales.invoices", "invoices"),
    ("SELECT j.s| FROM jetsql.jobs j", "status"),
    ("SELECT `o`.`c|` FROM orders o", "`customer"),
    ("SELECT t.| FROM `my table` t", "`a b`, `from`, *"),
    ("SELECT x.| FROM orders o", ""),
    ("SELECT address.| FROM orders", "street, geo, `zip code`"),
    ("SELECT o.address.g| FROM orders o", "geo"),
    ("SELECT o.address.geo.| FROM orders o", "lat, lon"),
    ("SELECT id.| FROM orders", ""),
    ("SELECT no| FROM draft", "note, not"),
    ("SELECT s.| FROM (SELECT id, count(*) AS n FROM orders GROUP BY id) s", "id, n, *"),
    ("SELECT s.| FROM (SELECT o.* FROM orders o JOIN big_orders b) s WHERE 1 = 1",
     "id, customer, amount, address, *"),
    ("SELECT s.| FROM (SELECT * FROM big_orders) AS s (x, y)", "x, y, *"),
    ("WITH w AS (SELECT amount money, id FROM orders) SELECT w.| FROM w", "money, id, *"),
    ("WITH w (k, v) AS (SELECT id, total FROM big_orders) SELECT q.| FROM w q", "k, v, *"),
    ("WITH w AS (SELECT id FROM orders), v AS (SELECT * FROM w) SELECT v.| FROM v", "id, *"),
    ("SELECT e.| FROM orders LATERAL VIEW explode(list) e AS item", "item, *"),
    ("SELECT d| FROM sales.invoices WHERE exists (SELECT 1 FROM orders)", "due, distinct, date"),
    ("SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM big_orders b WHERE b.id = o.|)",
     "id, customer, amount, address"),
    ("SELECT o.| FROM STREAM orders WITH ('maxFilesPerTrigger' = '2') WATERMARK day DELAY OF INTERVAL 2 HOURS AS o",
     "id, customer, amount, address, *"),
    ("SELECT o.c| FROM STREAM orders WATERMARK day DELAY OF INTERVAL '2 HOURS' o WHERE 1 = 1", "customer"),
    ("SELECT orders.c| FROM STREAM orders WATERMARK day DELAY OF INTERVAL 1 HOUR 30 MINUTES", "customer"),
    ("SELECT * FROM STREAM orders WATERMARK cu| DELAY OF INTERVAL 1 HOUR", "customer"),
    ("SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY cu|", "customer"),
    ("SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY id PATTERN (A B) DEFINE B AS cu|", "customer"),
    ("SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY id MEASURES sum(am|", "amount"),
    ("INSERT INTO big_orders (|", "id, total"),
    ("MERGE INTO orders o USING big_orders b ON o.id = b.t|", "total"),
    ("MERGE INTO orders o USING big_orders b ON o.id = b.id WHEN |", "MATCHED, NOT MATCHED"),
    ("UPDATE orders SET am|", "amount"),
    ("DELETE FROM orders WHERE am|", "amount"),
    ("SELECT sum(am| FROM orders", "amount"),
    ("SELECT count(*) OVER (PARTITION BY cu| FROM orders", "customer"),
    ("SELECT * FROM orders ORDER BY am|", "amount"),
    ("SELECT id, sum(amount) AS sums FROM orders GROUP BY id HAVING su|", "sums"),
    ("SELECT id, sum(amount) AS sums FROM orders GROUP BY id ORDER BY sums|", "sums"),
    ("SELECT id FROM orders UNION SELECT to| FROM big_orders", "total"),
    # words of the clause
    ("SELECT id f|", "from"),
    ("SELECT id F|", "FROM"),
    ("SELECT id FROM orders w|", "where, window, watermark"),
    ("SELECT id FROM orders gr|", "group by"),
    ("SELECT id FROM orders GROUP |", "BY"),
    ("SELECT * FROM orders o JOIN big_orders b o|", "on, order by, offset"),
    ("SELECT * FROM orders o LEFT |", "JOIN, OUTER JOIN, SEMI JOIN, ANTI JOIN"),
    ("SELECT * FROM orders WHERE id IS |", "NULL, NOT NULL, DISTINCT FROM, NOT DISTINCT FROM, TRUE, FALSE"),
    ("SELECT * FROM orders WHERE id = 1 a|", "and"),
    ("SELECT CASE WHEN id = 1 t|", "then"),
    ("SELECT CASE WHEN id = 1 THEN 2 e|", "else, end, except"),
    ("SELECT id FROM orders ORDER BY id d|", "desc"),
    ("SELECT id FROM orders LIMIT 10 u|", "union, union all"),
    ("SELECT CAST(id AS b|", "bigint, boolean, binary"),
    ("SELECT DISTINCT a| FROM orders", "amount, address"),
    ("SELECT * FROM orders WHERE id IN (se|", "select"),
    ("SELECT id AS |", ""),
    ("SELECT id AS n|", ""),
    ("SELECT * FROM orders AS |", ""),
    ("WITH |", ""),
    ("WITH x |", "AS, SELECT, INSERT INTO, INSERT OVERWRITE"),
    ("INSERT INTO orders v|", "values"),
    ("SELECT sum(id) o|", "or, over"),
    # heads of Spark's statements
    ("USE |", "default, jetsql, sales, SCHEMA, DATABASE"),
    ("use s|", "sales, schema"),
    ("USE SCHEMA s|", "sales"),
    ("DROP TABLE IF EXISTS o|", "orders"),
    ("DROP TABLE sales.|", "invoices"),
    ("DROP VIEW |", "recent, draft, default, jetsql, sales, IF"),
    ("DROP SCHEMA s|", "sales"),
    ("DROP SCHEMA sales c|", "cascade"),
    ("TRUNCATE TABLE r|", ""),
    ("REFRESH TABLE r|", "recent"),
    ("DESCRIBE TABLE EXTENDED o|", "orders"),
    ("DESCRIBE o|", "orders"),
    ("DESCRIBE sales.o|", "open_invoices"),
    ("SHOW T|", "TABLES, TBLPROPERTIES, TOKENS"),
    ("show tables in s|", "sales"),
    ("SHOW TABLES L|", "LIKE"),
    ("SHOW CREATE TABLE o|", "orders"),
    ("SHOW COLUMNS IN o|", "orders"),
    ("SHOW PARTITIONS b|", "big_orders"),
    ("ALTER TABLE o|", "orders"),
    ("ALTER TABLE orders o|", "owner"),
    ("ALTER VIEW r|", "recent"),
    ("ALTER TABLE orders r|", "rename, replace, recover"),
    ("CREATE OR REPLACE TEMPORARY V|", "VIEW"),
    ("CREATE VIEW v AS s|", "select"),
    ("CREATE VIEW v AS SELECT am| FROM orders", "amount"),
    ("CREATE TABLE x (a INT, b STRING) USING p|", "parquet"),
    ("CREATE TABLE x U|", "USING"),
    ("CREATE TABLE |", "IF"),
    ("SET spark.sql.a|", "ansi.enabled"),
    ("SET sp|", "spark.sql.ansi.enabled, spark.sql.shuffle.partitions"),
    ("EXPLAIN EXTENDED SELECT am| FROM orders", "amount"),
    ("EXPLAIN f|", "formatted, from"),
    ("CACHE TABLE x AS SELECT am| FROM orders", "amount"),
    # a table called job is Spark's
    ("DROP TABLE j|", "job, jetsql"),
    ("SELECT * FROM jo|", "job"),
    # nothing in texts, comments and words
    ("SELECT 'o|", ""),
    ("SELECT 'or|ders' FROM orders", ""),
    ('SELECT "am|" FROM orders', ""),
    ("SELECT 1 -- fr|", ""),
    ("SELECT /* fr| */ 1", ""),
    ("SELECT /* fr|", ""),
    ("SELECT am|ount FROM orders", ""),
    ("SELECT 'x'|", ""),
    ("SELECT 1 FROM orders WHERE id = 10|", ""),
    ("SELECT $$ fr|", ""),
    # only the statement at the cursor counts
    ("SELECT 1; SUSPEND JOB |", "totals"),
    ("SUSPEND JOB totals; RESUME JOB |; SELECT 1", "`late totals`"),
    ("SELECT * FROM sales.invoices; SELECT am| FROM orders; SELECT 1 FROM big_orders", "amount"),
    ("SELECT am|; SELECT * FROM orders", ""),
    ("SELECT 'it''s; not'; SUSPEND JOB |", "totals"),
    ("BEGIN SELECT 1; SELECT am| FROM orders; SELECT 2; END", "amount"),
    ("BEGIN SELECT 1; se|", "select, set"),
    ("BEGIN IF 1 = 1 THEN SELECT am| FROM orders; END IF; END", "amount"),
    ("-- SELECT\nSUSPEND -- it\nJOB |", "totals"),
    ("SELECT * FROM `broken WHERE x; SUSPEND JOB |", ""),
    ("SELECT * FROM `o|\nWHERE `x` = 1", "`orders`"),
    # the shell's commands
    (".j|", ".jobs"),
    (".RE|", ".read"),
    (".mode |", "table, vertical, csv, json, markdown"),
    (".mode v|", "vertical"),
    (".mode table |", ""),
    (".help rea|", "read"),
    (".help .rea|", ".read"),
    (".timing |", "on, off"),
    (".set pag|", "pager"),
    (".set keys |", "emacs, vi"),
    (".set suggest |", "on, off"),
    (".set keys v|", "vi"),
    (".set null_text |", ""),
    (".set keys vi |", ""),
    (".watch SUSPEND JOB |", "totals"),
    (".watch  SELECT am| FROM orders", "amount"),
    (".watch 2 SELECT am| FROM orders", "amount"),
    (".watch 0.5 s|", "show, start, suspend, select, set"),
    (".mode table\n.watch SHOW JOBS l|", "like"),
    (".read |", ""),
    (".unheard |", ""),
    ("  .jo|", ".jobs"),
    ("SELECT 1;\n.jo|", ".jobs"),
    (".jobs\nSUSPEND JOB |", "totals"),
    (".mode csv\n.jobs\nSUSPEND JOB |;\nSELECT 1", "totals"),
    (".jobs\n.mode v|", "vertical"),
    (".mode v|\nSELECT 1", "vertical"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "offered"), WHOLE)
def test_offered_candidates(marked: str, offered: str) -> None:
    assert sorted(texts(marked)) == sorted(offered.split(", ") if offered else [])


# Some of the suggestions; those after a minus must be missing.
PART = [
    ("|", "SELECT CREATE SHOW SUSPEND RESUME DROP WAIT INSERT USE SET -FROMM"),
    ("s|", "select show suspend set -drop"),
    ("CREATE |", "JOB SNAPSHOT TABLE VIEW SCHEMA OR TEMPORARY"),
    ("create |", "job snapshot table view schema"),
    ("SHOW |", "JOBS JOB ALL SNAPSHOTS TABLES VIEWS SCHEMAS FUNCTIONS CREATE"),
    ("SHOW CREATE |", "JOB TABLE ALERT"),
    ("ALTER USER ann |", "DISABLE ENABLE SET RESET"),
    ("ALTER USER ann SET (|", "statements_most rows_most statement_seconds"),
    ("ALTER USER ann SET (rows_most = 5, |", "statements_most statement_seconds -rows_most"),
    ("ALTER USER ann RESET (s|", "statements_most statement_seconds -rows_most"),
    ("CREATE ALERT a ON JOB t|", "totals"),
    ("CREATE ALERT a ON JOB j STATUS FAILED, S|", "SUSPENDED STARTING -RUNNING"),
    ("CREATE ALERT a ON JOB j EXPECTATION CALL 'secret:s' OPTIONS ('|", "'every' 'format' 'applyGroup' -'autoScaling'"),
    ("CREATE ALERT a ON JOB j EXPECTATION CALL 'https://h/' OPTIONS ('format' = '|", "'webhook' 'slack'"),
    ("DESCRIBE |", "JOB TABLE FUNCTION orders recent sales"),
    ("DROP |", "JOB SNAPSHOT TABLE VIEW SCHEMA FUNCTION"),
    ("ALTER |", "JOB TABLE VIEW"),
    ("EXPLAIN |", "CREATE SELECT FORMATTED"),
    ("SELECT |", "* DISTINCT CASE -FROM -WHERE"),
    ("SELECT | FROM orders o", "* DISTINCT id customer o CASE -orders -total"),
    ("SELECT id, | FROM orders", "customer CASE -DISTINCT -*"),
    ("SELECT id |", "FROM AS AND -GROUP -JOIN"),
    ("SELECT id | FROM orders", "FROM AS OVER"),
    ("SELECT * |", "FROM -AND -id"),
    ("SELECT count(*) | FROM orders", "FROM AS OVER"),
    ("SELECT 2 * | FROM orders", "id amount"),
    ("SELECT * FROM |", "orders recent draft sales STREAM -SELECT -WHERE"),
    ("SELECT * FROM (|", "SELECT WITH orders"),
    ("SELECT * FROM orders |", "WHERE JOIN AS -ON -AND -id"),
    ("SELECT * FROM orders o |", "WHERE JOIN -ON"),
    ("SELECT * FROM orders o JOIN big_orders b |", "ON USING WHERE"),
    ("SELECT * FROM orders o JOIN big_orders b ON |", "id customer total o b -WHERE"),
    ("SELECT * FROM orders o JOIN big_orders b ON o.id = b.id |", "AND WHERE JOIN"),
    ("SELECT * FROM orders WHERE |", "id customer NOT EXISTS -GROUP -AND"),
    ("SELECT * FROM orders WHERE id |", "IN IS LIKE BETWEEN -id"),
    ("SELECT * FROM orders WHERE id = |", "id amount -AND"),
    ("SELECT * FROM orders WHERE id BETWEEN 1 |", "AND"),
    ("SELECT * FROM orders WHERE NOT |", "id EXISTS -AND"),
    ("SELECT * FROM orders GROUP BY |", "id customer -HAVING"),
    ("SELECT * FROM orders GROUP BY id |", "HAVING -WHERE"),
    ("SELECT * FROM orders ORDER BY id |", "ASC DESC LIMIT -WHERE"),
    ("SELECT extract(year FROM |) FROM orders", "id customer -orders. -STREAM"),
    ("SELECT id IS DISTINCT FROM | FROM orders", "amount -STREAM"),
    ("SELECT id FROM orders UNION |", "SELECT"),
    ("SELECT window(day, '1 minute') | FROM orders", "FROM AS -LIMIT"),
    ("SELECT * FROM orders GROUP BY window(day, '1 minute'), |", "id customer"),
    ("SELECT * FROM STREAM orders WATERMARK day |", "DELAY"),
    ("SELECT * FROM orders MATCH|", "MATCH_RECOGNIZE"),
    ("SELECT * FROM orders MATCH_RECOGNIZE (|", "PARTITION ORDER MEASURES ONE AFTER PATTERN DEFINE -AND"),
    ("SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY customer ORDER BY id MEA|", "MEASURES"),
    ("SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY id ONE ROW PER MATCH AFTER |", "MATCH"),
    ("SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY id AFTER MATCH SKIP |", "PAST TO"),
    ("SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY id PATTERN (A+) DEF|", "DEFINE"),
    ("INSERT INTO orders |", "SELECT VALUES BY"),
    ("UPDATE orders |", "SET"),
    ("UPDATE orders SET id = |", "amount"),
    ("DELETE |", "FROM"),
    ("MERGE INTO orders o |", "USING"),
    ("WITH x AS (SELECT 1) |", "SELECT INSERT -FROM"),
    ("WITH x AS (|", "SELECT"),
    ("SELECT * FROM orders WHERE id IN (|", "SELECT id"),
    ("CREATE JOB x AS WITH b AS (SELECT 1) |", "SINK INSERT"),
    ("CREATE JOB x AS INSERT INTO big_orders |", "SELECT"),
    ("SELECT CASE |", "WHEN"),
    ("SELECT * FROM orders TABLESAMPLE (10 PERCENT) |", "WHERE"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "words"), PART)
def test_included_candidates(marked: str, words: str) -> None:
    found = {word for text in texts(marked) for word in (text, text.split(" ")[0])}
    missing = [word for word in words.split() if not word.startswith("-") and word not in found]
    unwanted = [word for word in words.split() if word.startswith("-") and word[1:] in found]
    assert (missing, unwanted) == ([], [])


@pytest.mark.parametrize(
    ("marked", "functions"),
    [
        ("SELECT co| FROM orders", ["count(", "concat("]),
        ("SELECT CO| FROM orders", ["COUNT(", "CONCAT("]),
        ("SELECT sum(u|", ["upper("]),
        ("SELECT * FROM orders WHERE s|", ["sum("]),
        ("SELECT * FROM s|", []),
        ("SELECT id s|", []),
        ("SELECT o.s| FROM orders o", []),
        ("SELECT `s| FROM orders o", []),
        ("DESCRIBE FUNCTION s|", ["sum"]),
        ("SUSPEND JOB s|", []),
    ],
)
def test_functions(marked: str, functions: list[str]) -> None:
    assert texts(marked, CandidateKind.FUNCTION) == functions


def test_names_of_the_expected_kind_come_first() -> None:
    sorts = [each.kind for each in at("SELECT c| FROM orders")]
    assert sorts == [
        CandidateKind.COLUMN,
        CandidateKind.KEYWORD,
        CandidateKind.KEYWORD,
        CandidateKind.FUNCTION,
        CandidateKind.FUNCTION,
    ]


def test_each_candidate_has_a_description() -> None:
    [job] = at("RESUME JOB l|")
    assert (job.display, job.kind, job.description, job.start) == ("late totals", CandidateKind.JOB, "SUSPENDED", 11)
    [option] = at("CREATE JOB x OPTIONS ('restart|")
    assert option.description.startswith("The limit of consecutive restarts without progress after an error.")
    about = {each.display: each.description for each in at("CREATE JOB x OPTIONS ('trigger' = '|")}
    assert about["interval"] == "Run continuously, in micro-batches. The default."
    [column] = at("SELECT o.cu| FROM orders o")
    assert column.description == "string"
    assert {each.text: each.description for each in at("SELECT id| FROM orders o, big_orders b")}["id"] == "bigint of o"
    assert {each.text: each.description for each in at("SELECT o| FROM orders o")}["o"] == "orders"


def test_every_option_and_value_is_offered_with_an_explanation() -> None:
    offered = {each.display: each.description for each in at("CREATE JOB x OPTIONS (|")}
    assert offered == {spec.name: spec.explanation for spec in OPTIONS}
    for spec in OPTIONS:
        values = {each.display: each.description for each in at(f"CREATE JOB x OPTIONS ('{spec.name}' = |")}
        assert [value.explanation for value in spec.fixed if not values[value.word].startswith(value.explanation)] == []
        assert all(value.explanation.endswith(".") for value in spec.fixed)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".read ", (ArgumentKind.FILE, 6)),
        (".read a b", (ArgumentKind.FILE, 6)),
        (".output >>a", (ArgumentKind.FILE, 10)),
        (".output >> a", (ArgumentKind.FILE, 11)),
        (".read", None),
        ("SELECT 1", None),
        (".set keys v", (ArgumentKind.SETTING, 10)),
        (".nothing x", None),
    ],
)
def test_the_argument_at_the_cursor(text: str, found: tuple[ArgumentKind, int] | None) -> None:
    assert argument_at(text, len(text)) == found


def test_every_command_is_offered_with_its_description() -> None:
    assert {each.text: each.description for each in at(".|")} == {each.word: each.summary for each in COMMANDS}


_PIECES = some.sampled_from(
    "SELECT FROM WHERE JOIN ON STREAM WITH AS ( ) , . ; ' ` \" -- /* */ * = orders o o. sales. id CREATE JOB j OPTIONS"
    " 'trigger' INSERT INTO SINK VALUES CASE WHEN END GROUP BY ORDER LATERAL VIEW explode( UNION USING MERGE UPDATE SET"
    " BEGIN IF THEN DROP TABLE SUSPEND ALTER SHOW .watch .mode \n".split(" ")
)


@settings(max_examples=examples(400))
@given(some.lists(_PIECES, max_size=25).map(" ".join) | some.text(max_size=40), some.integers(0, 200))
def test_any_text_has_valid_candidates(text: str, place: int) -> None:
    """Complete any text: no error is raised, and each candidate begins with the text that it replaces."""
    cursor = min(place, len(text))
    for each in complete(text, cursor, NAMES):
        assert 0 <= each.start <= cursor
        written = text[each.start : cursor].strip("'\"`").replace("``", "`").lower()
        assert each.text.strip("'\"`").lower().startswith(written) or each.display.lower().startswith(written)


_ON_ONE_LINE = [
    marked
    for marked, _ in WHOLE
    if not ("`broken" in marked or "-- fr" in marked or marked.endswith(("/* fr|", "$$ fr|")))
]


def test_text_changed_before_the_cursor_is_read_again() -> None:
    """Read the text again although the tokens at the cursor are at the places of the text that was read before."""
    columns, conditions = ", ".join(["1"] * 200), "1 = 1 AND " * 100
    found = [at(f"SELECT {columns} FROM {table} WHERE {conditions}|") for table in ("orders    ", "big_orders")]
    names = [{each.text for each in offered if each.kind is CandidateKind.COLUMN} for offered in found]
    assert names == [{"id", "customer", "amount", "address"}, {"id", "total"}]


@pytest.mark.parametrize("marked", _ON_ONE_LINE)
def test_text_after_a_semicolon_is_ignored(marked: str) -> None:
    assert texts(marked) == texts(f"SELECT 1;\n{marked}")


def test_state_table_function_is_offered_as_a_relation() -> None:
    assert texts("SELECT * FROM jetsql.st|", CandidateKind.FUNCTION) == ["state("]
    assert texts("SELECT * FROM sales.st|", CandidateKind.FUNCTION) == []
