"""The conditions of JetSQL's errors: SQLSTATE, meaning and remedy of each, for errors and for the reference manual."""

from __future__ import annotations

from typing import Final

from jetsql.conditions.condition import Condition
from jetsql.conditions.engine_conditions import ENGINE_CONDITIONS
from jetsql.conditions.job_conditions import JOB_CONDITIONS

CONDITIONS: Final[dict[str, Condition]] = {
    "PARSE_SYNTAX_ERROR": Condition(
        "42601",
        "The text is not a statement: a word is missing, misplaced or misspelled.",
        "Use one of the words that the message lists.",
    ),
    "UNSUPPORTED_BODY": Condition(
        "42601",
        "The text after `AS` in `CREATE JOB` is not a job.",
        "Begin it with `INSERT INTO`, `INSERT OVERWRITE` or `SINK INTO`, with `WITH` before that if needed, "
        "and end it with a query. Or write `AUTO CDC INTO` with its clauses.",
    ),
    "NOT_A_JOB_STATEMENT": Condition(
        "0A000",
        "The statement in a resource of Kubernetes is not exactly one `CREATE JOB`.",
        "Write one `CREATE JOB`. Other statements are for `jetsql apply`, or for a client of the engine.",
    ),
    "INVALID_NAME": Condition(
        "42602",
        "The name of a job or snapshot is empty, too long or has more than one part.",
        "Use one name without a schema; quote other characters than letters, digits and `_` with back quotes.",
    ),
    "INVALID_EXPECTATION": Condition(
        "42P17",
        "A rule for the rows of a job cannot be checked: its condition is not true or false for each row on its own.",
        "The message names the part of the condition. Compute it as a column of the query, and test the column.",
    ),
    "DUPLICATE_OPTION": Condition(
        "42614",
        "An option is given twice.",
        "Delete one. Options are compared without case, `_` and `-`.",
    ),
    "ONLY_IN_TEST_FILE": Condition(
        "0A000",
        "The statement belongs to a test file, and an engine does not run it.",
        "Write it into a file `NAME.test.sql`, and run `jetsql test NAME.test.sql`.",
    ),
    "INVALID_TEST": Condition(
        "42601",
        "A test file cannot be run: it has no tests, a test expects nothing, or a statement is not at its place.",
        "The message names the statement that is missing or misplaced.",
    ),
    "INVALID_FUNCTION": Condition(
        "42P13",
        "A function in Python cannot be created: its source, an import, a type or its schema is wrong.",
        "Change the part of the statement at the position of the error.",
    ),
    "FUNCTION_ALREADY_EXISTS": Condition(
        "42723",
        "A function with this name already exists in the schema.",
        "Use another name, `CREATE OR REPLACE FUNCTION` or `CREATE FUNCTION IF NOT EXISTS`; a function that is not in "
        "Python has to be dropped first.",
    ),
    "CLASS_IN_OTHER_JAR": Condition(
        "42710",
        "The class of a function is hidden by another class of the same name, in a jar that was added before. All "
        "sessions and jobs of an engine share the added jars.",
        "Rename the class in one of the jars. For a new version of a jar, drop the functions of the old one, and "
        "restart the engine.",
    ),
    "FUNCTION_NOT_FOUND": Condition(
        "42883",
        "There is no such function in Python.",
        "Use `DROP FUNCTION IF EXISTS`; `SHOW USER FUNCTIONS` lists the functions.",
    ),
    "SCHEMA_NOT_EMPTY": Condition(
        "2BP01",
        "A schema has functions in Python, so it cannot be dropped without `CASCADE`.",
        "Drop the functions first, or use `DROP SCHEMA ... CASCADE`.",
    ),
    "WRONG_FUNCTION_CALL": Condition(
        "42809",
        "A function in Python is called in the wrong place: a table function in an expression, or a function for a "
        "single value in `FROM`. Or `jetsql.state` has wrong arguments.",
        "Call it as the message says.",
    ),
    "LIMIT_EXCEEDED": Condition(
        "53400",
        "A user without `ADMIN` runs more statements at a time, a longer one, or one with more rows than the engine "
        "allows.",
        "Wait, write the rows into a table, or ask an admin to raise the limits with `ALTER USER ... SET`.",
    ),
    "UNKNOWN_OPTION": Condition(
        "42616",
        "There is no such option.",
        "The message names the nearest one.",
    ),
    "OPTION_NOT_CHANGEABLE": Condition(
        "42616",
        "An option cannot change for an existing job, or a setting of Spark cannot be set for a job.",
        "Create another job with it, or set it for the engine with `--conf`.",
    ),
    "TEMPORARY_OBJECT_IN_BODY": Condition(
        "42K0F",
        "A job uses a temporary view, function or variable, which ends with its session.",
        "Create a view or function in the catalog instead.",
    ),
    "PARAMETER_IN_BODY": Condition(
        "42K0F",
        "A statement about jobs has a parameter marker (`?`, `:name`) without a value.",
        "Send a value for it, or write the value into the statement.",
    ),
    "PARAMETER_NOT_READABLE": Condition(
        "07001",
        "The values of a statement's parameters do not fit its markers, or have a type that Spark does not have.",
        "Send one value for each marker; name the type with `Typed` where it is ambiguous.",
    ),
    "VARIABLE_NOT_SET": Condition(
        "42K0F",
        "A script uses a variable without a value.",
        "Set it with `--set NAME=VALUE` or `JETSQL_VAR_NAME`, or write `${name:-default}`.",
    ),
    "FILE_NOT_READABLE": Condition(
        "22021",
        "A file that `jetsql lint`, `format` or `convert` reads is not text in UTF-8, or has more than 2 MB.",
        "Convert it to UTF-8, split it, or leave it out.",
    ),
    "STATEMENT_NOT_CHECKED": Condition(
        "01000",
        "`jetsql lint`, `format` or `convert` cannot read a part of a statement, which an engine may accept.",
        "Run `jetsql lint --engine` to check it on an engine.",
    ),
    "STREAM_MISSING": Condition(
        "01000",
        "`jetsql lint` or `apply` finds a job that reads tables once and ends, and that could read them as streams.",
        "Write `STREAM` before the table. For a batch job, write `/* jetsql lint: ignore */` into the statement.",
    ),
    "CREDENTIALS_IN_CLEAR": Condition(
        "01000",
        "`jetsql lint` finds a table that sends the credentials of a schema registry over HTTP without TLS.",
        "Write the address of the registry with `https://`.",
    ),
    "VARIABLE_ESCAPED": Condition(
        "01000",
        "`jetsql lint` finds `$${name}`, which stands for the text `${name}`: no value is filled in.",
        "Write `${name}` for its value. If the text is meant, write `/* jetsql lint: ignore */` into the statement.",
    ),
    "NOT_A_DECLARATION": Condition(
        "0A000",
        "A file of `jetsql apply` has a statement that declares no object.",
        "Move it to a file outside of the folder, and run it with `jetsql run`.",
    ),
    "DECLARED_TWICE": Condition(
        "42710",
        "Two statements of `jetsql apply` declare one object.",
        "Remove one of the statements, or use another name.",
    ),
    "DEPENDENCY_CYCLE": Condition(
        "42P17",
        "Statements of `jetsql apply` need each other, so none of them can come first.",
        "Change one of the queries.",
    ),
    "TABLE_DIFFERS": Condition(
        "42P16",
        "A table exists, and differs from its statement in the files of `jetsql apply`.",
        "Run the statement in the hint, or change the file. Tables are never changed by `jetsql apply`.",
    ),
    "JOB_OF_ANOTHER_GROUP": Condition(
        "42710",
        "A job belongs to another group of `jetsql apply`, or to none of this run.",
        "Use `--group` with its group, or another name for the job.",
    ),
    "ALERT_OF_ANOTHER_GROUP": Condition(
        "42710",
        "An alert belongs to another group of `jetsql apply`, or to none of this run.",
        "Use `--group` with its group, or another name for the alert.",
    ),
    "OPTION_SPELLING": Condition(
        "01000",
        "An option or its value is not written as in the documentation. It has the same effect.",
        "Write it as the message shows, so that a search finds it.",
    ),
    "JOB_IN_BLOCK": Condition(
        "0A000",
        "A statement about jobs is inside `BEGIN ... END`.",
        "Write it outside of the block.",
    ),
    "NOT_SUPPORTED": Condition(
        "0A000",
        "The statement exists, but not for this kind of table, job or connection.",
        "The message says what is possible instead.",
    ),
    "VALUE_NOT_SHOWN": Condition(
        "0A000",
        "A column of a result has a type or a value that a client cannot receive.",
        "Cast the column to `STRING`.",
    ),
    "STREAM_OUTSIDE_JOB": Condition(
        "0A000",
        "An `INSERT` reads a stream outside of `CREATE JOB`.",
        "Write `CREATE JOB name AS` before it.",
    ),
    "STREAM_WITHOUT_LIMIT": Condition(
        "0A000",
        "A `SELECT` over a stream has no `LIMIT`, and the client cannot receive a result without an end.",
        "Add `LIMIT n`, or run it in the shell.",
    ),
    "STREAM_LIMIT_TOO_HIGH": Condition(
        "54000",
        "The `LIMIT` of a `SELECT` over a stream is too high for JDBC, where the engine holds the rows in memory.",
        "Use a lower limit, or another client.",
    ),
    "GUARANTEE_NOT_POSSIBLE": Condition(
        "0A000",
        "`processingGuarantee` asks for more than source and sink support.",
        "Leave the option out, or ask for less. `EXPLAIN CREATE JOB` shows the reason.",
    ),
    "SOURCE_NOT_REPLAYABLE": Condition(
        "0A000",
        "A source cannot read its rows again, so a restart would lose rows.",
        "Accept that with `'processingGuarantee' = 'none'`, or use another source.",
    ),
    "NO_OUTPUT_MODE": Condition(
        "0A000",
        "The rows that the query produces cannot be written in this way: it changes rows that it has already "
        "produced, or `outputMode` does not fit.",
        "Add a window and a `WATERMARK`, or use `INSERT OVERWRITE` or `SINK INTO`. The hint has your query with a "
        "change that makes it possible, if there is one.",
    ),
    "START_NOT_POSSIBLE": Condition(
        "0A000",
        "A job cannot begin where `START_MODE` says: a source has no such position, an option of a source says "
        "otherwise, or the job exists and has state.",
        "Leave the clause out, or do what the message says.",
    ),
    "INVALID_START_MODE": Condition(
        "22023",
        "The value of `START_MODE` is no position: it is not a time, lies in the future, or has offsets that the topic "
        "does not have.",
        "Write one of the values that the message names.",
    ),
    "RELATION_READ_ONLY": Condition(
        "42809",
        "A statement changes a relation of the schema `jetsql`, or the rows of a streaming table or a materialized "
        "view, which only its job writes.",
        "Copy the rows of a relation into a table with `CREATE TABLE ... AS SELECT`. Change the rows that the job "
        "reads, or its query with `CREATE OR REFRESH`.",
    ),
    "JOB_NOT_FOUND": Condition(
        "42704",
        "There is no job with this name or id.",
        "`SHOW ALL JOBS` lists the jobs. Use `IF EXISTS` where that is no error.",
    ),
    "TABLE_NOT_FOUND": Condition(
        "42P01",
        "There is no streaming table or materialized view with this name.",
        "`SHOW STREAMING TABLES` and `SHOW MATERIALIZED VIEWS` list them. Use `IF EXISTS` where that is no error.",
    ),
    "STATE_NOT_FOUND": Condition(
        "42704",
        "A job has no state, or not the part that a call of `jetsql.state` names.",
        "The message lists the operators, or the parts of the operator.",
    ),
    "SNAPSHOT_NOT_FOUND": Condition(
        "42704",
        "There is no snapshot with this name.",
        "`SHOW SNAPSHOTS` lists the snapshots.",
    ),
    "JOB_ALREADY_EXISTS": Condition(
        "42710",
        "A job that has not ended has this name.",
        "Use another name, `DROP JOB`, `IF NOT EXISTS` or `OR REPLACE`.",
    ),
    "TABLE_ALREADY_EXISTS": Condition(
        "42P07",
        "The table that the statement creates exists, or exists with other columns than those of the query.",
        "Use another name, drop the table, or write `IF NOT EXISTS`.",
    ),
    "SNAPSHOT_ALREADY_EXISTS": Condition(
        "42710",
        "A snapshot has this name.",
        "Use another name, `DROP SNAPSHOT` or `OR REPLACE`.",
    ),
    "WRONG_STATUS": Condition(
        "55000",
        "The statement does not apply to a job in its present status, or another statement changed it in the meantime.",
        "`SHOW JOBS` shows the status; the message says which statement applies.",
    ),
    "TABLE_IN_USE": Condition(
        "55006",
        "A job reads or writes the table that the statement would drop, rename or replace, or replaces its rows.",
        "Drop the jobs that the message names, or suspend them to drop or rename the table.",
    ),
    "SNAPSHOT_FAILED": Condition(
        "58030",
        "The snapshot could not be taken or copied. Nothing is left of it; the job is unchanged.",
        "Remove the cause that the message names, and try again.",
    ),
    "UPDATE_FAILED": Condition(
        "58000",
        "The new version of a job failed before its first batch. The old version continues, or is suspended again.",
        "Correct the statement and run `CREATE OR REPLACE JOB` again.",
    ),
    "WAIT_TIMEOUT": Condition(
        "57014",
        "`WAIT FOR JOB`, or a statement that waits for a job, waited longer than its timeout. What was "
        "requested continues.",
        "Wait again, with a longer `TIMEOUT`.",
    ),
    "STATEMENT_CANCELLED": Condition(
        "57014",
        "The statement was cancelled by its client.",
        "Nothing.",
    ),
    "STATEMENT_NOT_FOUND": Condition(
        "26000",
        "There is no running statement with this id in this session.",
        "It may have ended.",
    ),
    "SESSION_NOT_FOUND": Condition(
        "08003",
        "The session was closed, or the engine was restarted.",
        "Connect again. Settings and temporary views of the session are gone, jobs are not.",
    ),
    "OUTPUT_NOT_WRITABLE": Condition(
        "58030",
        "The shell cannot write results to a file or command.",
        "Choose another file with `.output`.",
    ),
    "REQUEST_NOT_READABLE": Condition(
        "08P01",
        "A request to the HTTP endpoint is not valid.",
        "The message names the field. `GET /openapi.json` describes requests.",
    ),
    "NOT_AUTHORIZED": Condition(
        "28000",
        "The token is missing or wrong, or the engine is not known by this host name.",
        "Send the token from `engine.token` in the home; add the name to `http_hosts`.",
    ),
    "LOGIN_ENDED": Condition(
        "28000",
        "The token of the client has expired or was dropped, or its user was disabled or dropped, while it was in use.",
        "Log in again, with a valid token. Jobs are not affected.",
    ),
    "OBJECT_NOT_FOUND": Condition(
        "42704",
        "There is no user, role, token, secret, connection, or object to grant a right on, with this name.",
        "Correct the name, or create the object first. `SHOW USERS`, `SHOW ROLES` and `SHOW TOKENS` list them.",
    ),
    "OBJECT_ALREADY_EXISTS": Condition(
        "42710",
        "A secret or a connection has this name already.",
        "Use another name, `CREATE OR REPLACE`, or `ALTER`.",
    ),
    "OBJECT_IN_USE": Condition(
        "2BP01",
        "A secret or a connection is used by a connection, a table or an alert.",
        "Drop what the message names first, or use `ALTER`.",
    ),
    "INVALID_ALERT": Condition(
        "22023",
        "An alert has a status, a URL, a command or a secret that cannot be used.",
        "The message says what is wrong. URLs begin with `https://`, or with `http://` for this machine.",
    ),
    "USER_ALREADY_EXISTS": Condition(
        "42710",
        "A user or a role has this name already.",
        "Use another name, or `IF NOT EXISTS`.",
    ),
    "USER_OWNS_OBJECTS": Condition(
        "2BP01",
        "A user who owns jobs, tables or views cannot be dropped.",
        "Drop them, or run `REASSIGN OWNED BY user TO other` first.",
    ),
    "INVALID_GRANT": Condition(
        "0LP01",
        "A right does not apply to the kind of the object, a role would have itself, or the user is built in.",
        "The message names what fits.",
    ),
    "LAST_ADMIN": Condition(
        "55006",
        "No admin could log in after the statement: the token of the home is disabled, and no other user with `ADMIN` "
        "would have a valid token.",
        "Grant `ADMIN` to another user with a token first, or run `ALTER USER owner ENABLE`.",
    ),
    **JOB_CONDITIONS,
    **ENGINE_CONDITIONS,
}
"""The descriptions of all conditions by their names, without the prefix `JETSQL.`."""
