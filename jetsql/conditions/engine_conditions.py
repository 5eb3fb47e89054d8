"""The conditions of errors of engines and their homes, rather than of statements."""

from __future__ import annotations

from typing import Final

from jetsql.conditions.condition import Condition

ENGINE_CONDITIONS: Final[dict[str, Condition]] = {
    "ENGINE_NOT_REACHABLE": Condition(
        "08001",
        "No engine answers at this address or home.",
        "Start it with `jetsql start`; `jetsql status` shows where it answers.",
    ),
    "CONNECTION_LOST": Condition(
        "08006",
        "The connection ended, or the engine was stopped, before the result was complete, so the outcome of the"
        " statement is unknown.",
        "Connect again, and check with `SHOW JOBS` or a query whether it took effect.",
    ),
    "HOME_IN_USE": Condition(
        "55006",
        "Another engine owns the home.",
        "Stop that engine, or use another folder.",
    ),
    "HOME_NOT_USABLE": Condition(
        "58030",
        "The home does not exist, cannot be read or written, or belongs to another user.",
        "Correct the name (`--home`) or the permissions, or use another folder.",
    ),
    "AUDIT_NOT_WRITTEN": Condition(
        "58030",
        "With `audit = required`, a statement was not run, because `audit.log` in the home cannot be written.",
        "Free space on the disk of the home, or correct the permissions of the file. Or set `audit = on`.",
    ),
    "STORE_DAMAGED": Condition(
        "58030",
        "The store (`jetsql.db`) cannot be read, or is missing from a home with files of jobs. Nothing was changed.",
        "Restore it from a backup. Without one, move it away and start with `--new-store`: the jobs are lost then, and"
        " process all rows again when they are created again.",
    ),
    "STORE_TOO_NEW": Condition(
        "58030",
        "The store was written by a newer JetSQL.",
        "Install that release, or use another home.",
    ),
    "STORE_NOT_USABLE": Condition(
        "58030",
        "The store on PostgreSQL cannot be reached, refuses the user, or belongs to another home. Nothing was changed.",
        "The message has PostgreSQL's reason. Correct the settings `store` and `store_password`, or start the server.",
    ),
    "STORE_IN_USE": Condition(
        "55006",
        "Another engine has opened the store on PostgreSQL.",
        "Stop that engine, or use another store.",
    ),
    "NOT_LEADER": Condition(
        "55006",
        "The statement was sent to a standby, or to a leader that cannot reach its store. It was not executed.",
        "Send it to the leader, whose address the message has if the standby knows it. JetSQL's own clients do so by"
        " themselves.",
    ),
    "STORE_NOT_EMPTY": Condition(
        "55000",
        "`jetsql store copy` does not write to a store that has other contents.",
        "Choose another place for the copy, or move that store away.",
    ),
    "BACKUP_FAILED": Condition(
        "58030",
        "`jetsql backup` could not write the backup. Nothing is left of it, and the engine and its jobs continue.",
        "Remove the cause that the message names, and run the command again.",
    ),
    "BACKUP_NOT_USABLE": Condition(
        "58030",
        "The folder given to `jetsql restore` is no complete backup, or one of its files is missing or was changed. "
        "Nothing was restored.",
        "Use another backup.",
    ),
    "ENGINE_NOT_STARTED": Condition(
        "58000",
        "The engine could not start: no Java, an invalid master, a port in use, a missing secret.",
        "The message has the cause; `engine.log` in the home has the details.",
    ),
    "CLASSES_NOT_ARCHIVED": Condition(
        "58000",
        "The archive of Spark's classes, with which engines start faster, could not be made.",
        "The message has the cause. Engines work without the archive.",
    ),
    "ENGINE_NOT_INSTALLED": Condition(
        "58000",
        "The engine is not installed, or `jetsql-client` of release 0.2 is installed next to `jetsql`.",
        "Install `jetsql[engine]`, or give the URL of an engine that runs.",
    ),
    "CERTIFICATE_NOT_USABLE": Condition(
        "58000",
        "The engine cannot use the certificate or the private key in `tls_cert` and `tls_key`: they do not belong "
        "together, are not readable, have expired, or other users can read the key.",
        "The message names the file and what to do with it.",
    ),
    "ENDPOINT_NOT_ENCRYPTED": Condition(
        "55000",
        "An engine with users has an endpoint that other machines reach, without TLS. Everybody on the network between "
        "could read the tokens of the users.",
        "Set `tls_cert` and `tls_key`, or let the endpoint listen on 127.0.0.1. If a proxy or a tunnel encrypts its "
        "traffic, set `plain_endpoints = true`.",
    ),
    "INVALID_SETTING": Condition(
        "22023",
        "A setting has a value that it does not take, or does not exist.",
        "The message names where it is set.",
    ),
}
