"""The bodies and headers of messages. Those of a webhook are as https://www.standardwebhooks.com describes them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from jetsql.jobs.alerts.alert_records import AlertMessage, MessageFormat, MessageKind

_ENCODED: Final = "whsec_"


def body_of(message: AlertMessage, form: MessageFormat) -> bytes:
    """Return the body of a message, the same for each attempt."""
    body = _slack(message) if form is MessageFormat.SLACK else _webhook(message)
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def headers_of(message: AlertMessage, body: bytes, secret: str, now: float) -> dict[str, str]:
    """Return the headers of an attempt. secret: signs it; empty for no signature. now: seconds since the epoch"""
    headers = {"Content-Type": "application/json", "webhook-id": message.id, "webhook-timestamp": str(int(now))}
    if secret:
        headers["webhook-signature"] = signature(message.id, int(now), body, secret)
    return headers


def signature(message_id: str, timestamp: int, body: bytes, secret: str) -> str:
    """Return the signature of a message. secret: its UTF-8 is the key, or `whsec_` and the key in Base64"""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _key(secret: str) -> bytes:
    if secret.startswith(_ENCODED):
        try:
            return base64.b64decode(secret.removeprefix(_ENCODED), validate=True)
        except binascii.Error:
            pass  # it is a text that only begins so
    return secret.encode()


def _webhook(message: AlertMessage) -> Mapping[str, Any]:
    return {
        "type": f"job.alert.{message.kind.value.lower()}",
        "timestamp": datetime.fromtimestamp(message.time, UTC).isoformat(timespec="milliseconds"),
        "data": {
            "id": message.id,
            "alert": message.alert,
            "job": message.job,
            "job_id": message.job_id,
            "status": message.status,
            "condition": message.condition,
            "message": message.text,
            "suppressed": message.suppressed,
        },
    }


def _slack(message: AlertMessage) -> Mapping[str, Any]:
    sign = ":rotating_light:" if message.kind is MessageKind.FIRING else ":white_check_mark:"
    suppressed = f" {message.suppressed} earlier alerts were not sent." if message.suppressed else ""
    text = f"{sign} *{message.alert}*: {message.text}{suppressed}\n`{message.condition}`, message {message.id}"
    return {"text": text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}
