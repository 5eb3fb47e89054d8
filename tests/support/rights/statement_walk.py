"""Random statements of a restricted user, from Spark's functions and clauses, the grammar's corpus and the escapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Final

from tests.support.rights.escape_list import ALLOWED, ESCAPES
from tests.support.sql_corpus import accepted_statements, document_statements
from tools.java.rights_lists import listed

_TABLES: Final = (
    *("hr.pay", "hr.parts", "hr.v", "s.hidden", "spark_catalog.hr.pay", "`hr`.`pay`", "pay", "jetsql.jobs"),
    *("s.orders", "s.items", "s.names", "s.broken", "own.made", "orders", "walked"),
    *("text.`{file}`", "csv.`{file}`", "parquet.`{warehouse}/hr.db/pay`", "IDENTIFIER('hr.pay')", "range(3)"),
    *("s.leaked_rows()", "VALUES (1, 'a') AS t(id, name)", "(SELECT * FROM hr.pay)", "STREAM s.orders"),
)
_VALUES: Final = (
    *("1", "0", "'a'", "NULL", "true", "1.5", "id", "salary_column", "array(1, 2)", "map('a', 1)", "DATE '2024-01-01'"),
    *("TIMESTAMP '2024-01-01 00:00:00'", "INTERVAL '1' DAY", "x'00'", "named_struct('a', 1)", "x -> x", "*"),
    *("'java.lang.System'", "'setProperty'", "'jetsql.canary'", "'{file}'", "'a INT'", "_metadata", "current_user()"),
    *("(SELECT max(salary_column) FROM hr.pay)", "(SELECT 1)", "IDENTIFIER('id')", "IDENTIFIER('reflect')('a', 'b')"),
)
_QUERIES: Final = (
    "SELECT {value} FROM {table}",
    "SELECT {value} AS v, {value} AS w FROM {table} WHERE {value} IS NOT NULL",
    "SELECT {value}, count(*) FROM {table} GROUP BY 1 HAVING {value} > 0 ORDER BY {value}",
    "SELECT * FROM {table} a JOIN {table} b ON {value} = {value} LIMIT 3",
    "SELECT * FROM {table} a LEFT ANTI JOIN {table} b USING (id)",
    "WITH c AS ({query}) SELECT * FROM c",
    "({query}) UNION ALL ({query})",
    "SELECT * FROM {table} LATERAL VIEW explode(array({value})) t AS y",
    "SELECT * FROM {table} PIVOT (max({value}) FOR id IN ({value}))",
    "SELECT {value} OVER (PARTITION BY {value} ORDER BY {value}) FROM {table}",
    "SELECT * FROM {table} WHERE id IN ({query})",
    "SELECT * FROM {table}, LATERAL ({query})",
    "FROM {table} |> WHERE {value} |> EXTEND {value} AS y",
    "VALUES ({value}, {value})",
    "SELECT * FROM {table} TABLESAMPLE (1 ROWS)",
    "SELECT * FROM {table} MATCH_RECOGNIZE (ORDER BY id MEASURES A.id AS a PATTERN (A) DEFINE A AS {value} = 1)",
    "TABLE {table}",
    "SELECT {value} FROM {table} VERSION AS OF {value}",
    "SELECT {value} FROM {table} TIMESTAMP AS OF {value}",
    "SELECT {value}, count(*) FROM STREAM {table} GROUP BY 1 LIMIT 1",
)
_STATEMENTS: Final = (
    "{query}",
    "EXPLAIN {query}",
    "EXPLAIN EXTENDED {query}",
    "DESCRIBE QUERY {query}",
    "CREATE OR REPLACE TEMPORARY VIEW walked AS {query}",
    "CREATE OR REPLACE VIEW own.walked AS {query}",
    "CREATE TABLE IF NOT EXISTS own.walked_table USING parquet AS {query}",
    "INSERT INTO s.inbox {query}",
    "INSERT INTO {table} {query}",
    "INSERT OVERWRITE {table} {query}",
    "EXECUTE IMMEDIATE '{query_text}'",
    "BEGIN {query}; END",
    "BEGIN DECLARE x STRING DEFAULT {value}; SELECT x; END",
    "BEGIN FOR x AS {query} DO {query}; END FOR; END",
    "DECLARE OR REPLACE walked_value STRING DEFAULT {value}",
    "SET VAR walked_value = ({query})",
    "CACHE TABLE walked_cache AS {query}",
    "MERGE INTO {table} a USING {table} b ON {value} WHEN MATCHED THEN DELETE",
    "DELETE FROM {table} WHERE {value}",
    "UPDATE {table} SET id = {value}",
    "DESCRIBE EXTENDED {table}",
    "SHOW COLUMNS IN {table}",
    "SHOW CREATE TABLE {table}",
    "DROP TABLE IF EXISTS {table}",
    "TRUNCATE TABLE {table}",
    "ALTER TABLE {table} RENAME TO own.taken",
    "ALTER VIEW {table} AS {query}",
    "USE {table}",
    "SHOW TABLES",
    "CREATE JOB walked AS INSERT INTO s.inbox {query}",
    "OPTIMIZE {table} WHERE {value} = {value}",
    "OPTIMIZE {table} ZORDER BY (id)",
    "VACUUM {table} DRY RUN",
    "VACUUM {table} USING INVENTORY ({query}) DRY RUN",
    "RESTORE TABLE {table} TO VERSION AS OF 1",
    "RESTORE TABLE {table} TO TIMESTAMP AS OF {value}",
    "DESCRIBE HISTORY {table}",
    "DESCRIBE DETAIL {table}",
    "SELECT * FROM {table}.files",
    "SELECT * FROM table_changes('{table}', 0)",
    "ALTER TABLE {table} CREATE BRANCH walked",
    "ALTER TABLE {table} ADD PARTITION FIELD id",
    "CALL lake.system.ancestors_of('{table}')",
    "CALL lake.system.rewrite_data_files(table => '{table}', where => '{value_text} = 1')",
    "CALL lake.system.rewrite_data_files(table => {value}, options => {value})",
    "CALL lake.system.rollback_to_timestamp('{table}', {value})",
    "CALL lake.system.create_changelog_view(table => '{table}', changelog_view => 'walked')",
)
_NAME: Final = re.compile(r"\{(\w+)\}")
_KEPT: Final = ("file", "folder", "port", "warehouse")
"""Places that the session fills in."""
_SLOW: Final = re.compile(r"\b(WAIT|SHUTDOWN|sleep|stop)\b", re.IGNORECASE)
_DEPTH: Final = 3


class Walk:
    """A sequence of random statements, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._functions = [name for name in listed("functions.txt") if re.fullmatch(r"[a-z]\w*", name)]
        corpus = [*accepted_statements(), *document_statements()]
        entries = [each for group in ESCAPES.values() for each in group] + list(ALLOWED)
        self._texts = [text for text in corpus if not _SLOW.search(text)]
        self._texts += [statement for entry in entries for statement in entry]

    def next(self) -> str:
        """Return a statement."""
        choice = self._random.random()
        if choice < 0.5:
            return self._fill(self._random.choice(_STATEMENTS), _DEPTH)
        if choice < 0.6:
            return self._random.choice(self._texts)
        return self._mutated(self._random.choice(self._texts))

    def _fill(self, text: str, depth: int) -> str:
        return _NAME.sub(lambda match: self._part(match[1], depth), text)

    def _part(self, name: str, depth: int) -> str:
        if name in _KEPT:
            return "{" + name + "}"
        if name == "table":
            return self._random.choice(_TABLES)
        if name == "value":
            return self._value(depth)
        if name == "value_text":
            return self._value(depth).replace("'", "\\'")
        query = self._fill(self._random.choice(_QUERIES if depth else _QUERIES[:1]), depth - 1 if depth else 0)
        return query.replace("'", "\\'") if name == "query_text" else query

    def _value(self, depth: int) -> str:
        if depth <= 0 or self._random.random() < 0.4:
            return self._random.choice(_VALUES)
        arguments = ", ".join(self._value(depth - 1) for _ in range(self._random.randint(0, 3)))
        return f"{self._random.choice(self._functions)}({arguments})"

    def _mutated(self, text: str) -> str:
        """Return a statement in which words are replaced by names of tables, values or words of another one."""
        words = re.split(r"(\s+|[(),])", text)
        others: Sequence[str] = self._random.choice(self._texts).split()
        for _ in range(self._random.randint(1, 3)):
            place = self._random.randrange(len(words))
            words[place] = self._random.choice((self._random.choice(_TABLES), self._value(1), *others[:6]))
        return "".join(words)
