"""Explain lost connections to systems that no other table of errors knows, such as a catalog or another database.

Their clients wrap the errors of Java and of the usual libraries for HTTP and Thrift, so one of these classes is in the
chain of causes, whatever the message says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from jetsql.jobs.model.job import Cause

_LOST: Final = re.compile(
    r"\.(Connect|ConnectTimeout|ConnectionClosed|ConnectionRequestTimeout|HttpHostConnect|HttpConnectTimeout"
    r"|HttpTimeout|NoHttpResponse|NoRouteToHost|PortUnreachable|Socket|SocketTimeout|UnknownHost|UnresolvedAddress"
    r"|SSL|SSLHandshake|SSLPeerUnverified|SSLProtocol|CertificateExpired|CertificateNotYetValid"
    r"|TTransport|ServiceUnavailable|ServiceFailure)Exception$"
)
_HINT: Final = "Check that it runs and that the engine can reach it. Running jobs wait for it and lose nothing."


def explain_lost_connection(cause: Cause, classes: Sequence[str], messages: Sequence[str]) -> Cause | None:
    """Return the cause for a lost connection, or None for any other error.

    classes, messages: of the exception and its causes, the outermost first.
    """
    at = next((number for number in reversed(range(len(classes))) if _LOST.search(classes[number])), None)
    if at is None:
        return None
    reason = (messages[at] if at < len(messages) else "") or cause.message
    name = classes[at].rpartition(".")[2]
    message = f"A system that the job needs cannot be reached: {' '.join(reason.split())} ({name})."
    away = cause.explained("EXTERNAL_SYSTEM_UNAVAILABLE", message, cause.where, _HINT)
    return replace(away, external_outage=True)
