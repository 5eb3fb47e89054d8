"""The conditions of errors that stop jobs, with what an operator checks first."""

from __future__ import annotations

from typing import Final

from jetsql.conditions.condition import Condition

JOB_CONDITIONS: Final[dict[str, Condition]] = {
    "INVALID_OPTION_VALUE": Condition(
        "22023",
        "An option has a value that it does not take.",
        "The message lists the values.",
        check="The message names the option. `SHOW CREATE TABLE t` shows those of the table.",
    ),
    "EXPECTATION_VIOLATED": Condition(
        "23514",
        "A row violates a rule with `ON VIOLATION FAIL`. Nothing of its batch was written.",
        "Correct the rows in the source, or replace the job with a rule that has another action.",
        check=(
            "`SELECT * FROM jetsql.expectations WHERE job = 'j'` counts the violations of each rule. The message "
            "has the rule and a row."
        ),
    ),
    "UNSUPPORTED_SINK": Condition(
        "0A000",
        "The table cannot be written by a job, or not in this way.",
        "The message names the tables or the verb that fit.",
        check=(
            "The message names the table, and what a job cannot write to: for example, the table for refused rows "
            "has other columns now."
        ),
    ),
    "UNSUPPORTED_QUERY": Condition(
        "0A000",
        "Spark cannot run the query over a stream, or another job conflicts with it.",
        "The message says which part; most often a batch job or another table helps. The hint has your query with a "
        "change that makes it possible, if there is one.",
        check=(
            "The message names the part of the query or the table. A table of Iceberg or Delta may have new "
            "properties since the job was created."
        ),
    ),
    "STATEMENT_TOO_COMPLEX": Condition(
        "54001",
        "A statement has more than 200 levels of parentheses, brackets, types, `CASE` and `BEGIN`, or more than 20 "
        "comments within each other. Or it has more words, values and symbols than fit into the engine's heap (half a "
        "million for 1 GB), or a chain of more operators than Spark can analyze (some hundred).",
        "Compute parts of it in a `WITH` clause, a view or a table. Replace a chain with `IN` or `concat_ws`. Load "
        "many rows from a file.",
        check="`DESCRIBE JOB j` shows the query. A view that it uses may have grown.",
    ),
    "PATTERN_TOO_COMPLEX": Condition(
        "54001",
        "The search for a match of a `PATTERN` from one row took too many steps.",
        "Write a simpler pattern, or add `WITHIN`, so that fewer rows can be combined.",
        check="`DESCRIBE JOB j` shows the query with its `PATTERN`. One key may have very many rows.",
    ),
    "FORMAT_NOT_LOADED": Condition(
        "0A000",
        "A statement names a Delta or Iceberg table, and the engine was started without that format.",
        "Start the engine with `--delta` or `--iceberg`, on a PySpark that the format has a release for.",
        check=(
            "How the engine was started: it lacks `--delta` or `--iceberg`, for example after a change of its "
            "unit or its settings."
        ),
    ),
    "TRIGGER_NOT_POSSIBLE": Condition(
        "0A000",
        "The job cannot run with this trigger.",
        "Leave `trigger` out, or change what the message names. A real-time job may wait for cores.",
        check=(
            "`SHOW MEMBERS` shows the cores, and `SHOW JOBS` the other jobs with the trigger `realTime`: each "
            "keeps cores for itself."
        ),
    ),
    "SINK_CHANGED": Condition(
        "55000",
        "The table or topic that the job writes was dropped, replaced or changed, or it is ahead of the job's "
        "checkpoint.",
        "Undo the change and `RESUME`, which accepts a table that was created again with the same columns and place. "
        "Or drop the job and create it for the new table. The message says how to accept a new topic.",
        check=(
            "The message says what differs: the table, a column, the topic, or a batch that is newer than the "
            "checkpoint. `SHOW JOB HISTORY j` shows the last batch before."
        ),
    ),
    "SOURCE_CHANGED": Condition(
        "55000",
        "Something that the job reads was dropped, replaced or deleted: a table, a topic, files, messages.",
        "Undo the change and `RESUME`. The message says how to skip what is gone, or to accept what is new.",
        check=(
            "The message names the table, topic or file, and the batch. For a topic: its retention, and who has "
            "created it again. `SHOW JOB HISTORY j` shows when the job was last right."
        ),
    ),
    "JOB_CHANGED": Condition(
        "55000",
        "A view or table that the job uses was replaced, so its statement has another meaning now.",
        "Undo the change and `RESUME`, or accept it with `CREATE OR REPLACE JOB`.",
        check=(
            "The message lists the views, tables and functions that were replaced. `EXPLAIN CREATE OR REPLACE JOB "
            "...` shows whether the state fits their new form."
        ),
    ),
    "SIDE_TABLE_REPLACED": Condition(
        "55000",
        "A table that the job joins its stream with was replaced. The job restarts by itself.",
        "Nothing.",
        check="Nothing: the job restarts with the new table, and `SHOW JOB HISTORY j` has this as a restart.",
    ),
    "STATE_NOT_COMPATIBLE": Condition(
        "55000",
        "The job's state cannot be used by the new statement, by a job from this snapshot, or by this JetSQL.",
        "Keep grouping keys, aggregates and sources as they were, or create a job without the state.",
        check="The message names the operator and what differs. `SHOW JOB HISTORY j` shows since when.",
    ),
    "JOB_IN_USE": Condition(
        "55006",
        "Another engine runs the job.",
        "Stop that engine, then `RESUME JOB`. One home belongs to one engine.",
        check=(
            "The message names the engine that runs the job. `SELECT * FROM jetsql.engines` lists the engines of "
            "the store."
        ),
    ),
    "PENDING_BATCH_FAILED": Condition(
        "55000",
        "The newest batch was planned and not committed, and it cannot be finished.",
        "Remove the cause and `RESUME`. The message says when the job has to be created again.",
        check=(
            "The message names the batch, and why it can be neither finished nor repeated. `SHOW JOB HISTORY j` "
            "shows what has changed since it began."
        ),
    ),
    "FORMAT_NOT_READABLE": Condition(
        "58030",
        "The job was made by a newer JetSQL, in a form that this one does not read.",
        "Start the engine with that release or a later one.",
        check="The message names the release that has written the job. `jetsql --version` shows the one that runs.",
    ),
    "CHECKPOINT_DAMAGED": Condition(
        "58030",
        "A file of the job's checkpoint is missing, cut off or changed.",
        "Restore the checkpoint from a backup made while no engine ran, or drop the job and create it again. "
        "`jetsql check` shows what is damaged.",
        check=(
            "`jetsql check` names every file that is missing, cut off or changed, for all jobs. Check the disk "
            "and its log, too: a disk seldom damages one file alone."
        ),
    ),
    "SECRET_NOT_READABLE": Condition(
        "42704",
        "A secret, or a `secret:file:` or `secret:env:` reference, cannot be read on the engine.",
        "Create the file, or set the variable, for the engine's process.",
        check=(
            "The message names the secret, file or variable. The engine's process has to see it: with systemd, a "
            "container or Kubernetes, this is another environment than yours."
        ),
    ),
    "SECRET_NOT_FOR_HOST": Condition(
        "42501",
        "An option sends a secret to a host that it is not for.",
        "Correct the address, or name the host in `ALTER SECRET ... FOR`.",
        check="The message names the secret and the host. `SHOW SECRETS` lists the hosts that each secret is for.",
    ),
    "DISK_FULL": Condition(
        "53100",
        "A disk is full. A job is restarted, then suspended; a query fails, also after some of its rows.",
        "Free space, then `RESUME JOB`, or run the query again.",
        check=(
            "The message names the folder. `df -h` and `du` show what fills its disk: temporary files of the home "
            "(`tmp`), state, or the table."
        ),
    ),
    "STORAGE_NOT_USABLE": Condition(
        "58030",
        "A folder or file system that the job needs cannot be read or written.",
        "Restore the access that the message names, then `RESUME JOB`.",
        check="The message names the folder or bucket. Try it as the user of the engine: list it, and write a file.",
    ),
    "ENGINE_ENDANGERED": Condition(
        "53000",
        "The job used so much memory, so many open files or so much disk that the engine, and with it all other jobs, "
        "was in danger. It was suspended, and keeps its state.",
        "Give the engine more of what the message names, since the next start repeats the batch. Then `RESUME JOB`.",
        check=(
            "The message has the resource, and what the job uses of it. `SHOW JOB HISTORY j` has the warnings before. "
            "The page of the job in the web console shows its rows over time."
        ),
    ),
    "CRASH_LOOP": Condition(
        "58000",
        "The engine has ended twice in a row because of the job, so the job was not started again.",
        "Give the engine more memory, since the next start repeats the batch. Then `RESUME JOB`.",
        check=(
            "The end of `engine.log`, and `java-crash.log` in the home if it exists: most often the heap was "
            "full. `SHOW JOB HISTORY j` has the last batch."
        ),
    ),
    "MEMBER_LOST": Condition(
        "58000",
        "An executor was lost, and `autoScaling` is false.",
        "`RESUME JOB`, or set `autoScaling`.",
        check=(
            "`SHOW MEMBERS` shows the executor with the reason of its end. On Kubernetes, `kubectl describe pod`, "
            "on a cluster of your own the log of its worker."
        ),
    ),
    "DELIVERY_INTERRUPTED": Condition(
        "55000",
        "A batch was not written because another process changed what it needs. It is tried again.",
        "Nothing.",
        check=(
            "Nothing, if it happens once. If it comes again and again, another program writes the same table, or "
            "the machine pauses the engine."
        ),
    ),
    "EXTERNAL_SYSTEM_UNAVAILABLE": Condition(
        "08001",
        "A Kafka broker, a schema registry or a database cannot be reached, or the engine has no JDBC driver for the "
        "database.",
        "Check the address and the server. Jobs wait or retry meanwhile. The hint says how to start the engine with "
        "a missing driver.",
        check=(
            "The job waits, and is not stopped. The message names the system and the address: connect to it from "
            "the engine's machine."
        ),
    ),
    "EXTERNAL_SYSTEM_ERROR": Condition(
        "58000",
        "A Kafka broker or a database reported an error.",
        "The message quotes it.",
        check="The message quotes the broker or the database. Its own log has more at the same time.",
    ),
    "SINK_NOT_READY": Condition(
        "42501",
        "The user may not write into the sink, or it lacks something: a permission, a unique index, a topic, a schema.",
        "Grant or create what the message names.",
        check=(
            "The message names the missing right, index, topic or schema, and the user of the connection. `SHOW "
            "CREATE TABLE t` shows the connection."
        ),
    ),
    "SOURCE_NOT_READY": Condition(
        "42501",
        "The user may not read the source, or it does not exist, or it has no schema for the columns.",
        "Grant or create what the message names.",
        check=(
            "The message names the missing right, topic or schema, and the user of the connection. `SHOW CREATE "
            "TABLE t` shows the connection."
        ),
    ),
    "MESSAGE_NOT_READABLE": Condition(
        "22000",
        "A Kafka message, or a line of a JSON or CSV file, does not fit the table's columns.",
        "Correct the columns, the producer or the file, or set `'on.error'` of the table.",
        check=(
            "The message has the topic, the partition and the offset, or the file and the line, with the reason. "
            "`SHOW CREATE TABLE t` shows the columns that it does not fit."
        ),
    ),
    "SINK_REFUSED_ROWS": Condition(
        "22000",
        "The sink refused rows: a constraint, a type, a key without a value, a message that is too large. "
        "Nothing of the batch was written.",
        "Change the query so that it does not produce such rows, or the sink so that it takes them; or keep them in a "
        "table, with `'sink.on.error'` of the job.",
        check="The message has the reason of the sink, and the row if the sink names it.",
    ),
    "DUPLICATE_KEY": Condition(
        "23505",
        "Two rows of a batch have the same key, or the database already has a row with it.",
        "Group the query by the key columns, or use `SINK INTO` and `'key.columns'`.",
        check=(
            "The message has the key columns, or what the database says about the key. `GROUP BY` the key with "
            "`HAVING count(*) > 1` finds the rows in the source."
        ),
    ),
    "JOB_FAILED": Condition(
        "58000",
        "The job failed: at its start, or when its restarts did not help.",
        "The message has the cause. `SHOW JOB HISTORY` shows the attempts.",
        check=(
            "`SHOW JOB HISTORY j` shows each attempt with its error. `engine.log` has the stack trace at the same time."
        ),
    ),
    "NOT_ALLOWED": Condition(
        "42501",
        "The user lacks a right that the statement needs.",
        "An admin or the owner of the object can `GRANT` it; `SHOW GRANTS` lists the own rights.",
        check=(
            "The message names the right and the object. `SHOW GRANTS FOR owner` shows the rights of the owner, "
            "in whose name the job runs."
        ),
    ),
    "INTERNAL_ERROR": Condition(
        "XX000",
        "An error that JetSQL does not expect.",
        "Report it with the lines that `engine.log` has about it.",
        check="`engine.log` at the time of the error has the stack trace.",
    ),
}
