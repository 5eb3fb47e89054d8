"""The bodies, headers and signatures of messages."""

from __future__ import annotations

import base64
import json

from jetsql.jobs.alerts.alert_records import AlertMessage, MessageFormat, MessageKind
from jetsql.jobs.alerts.message_formats import body_of, headers_of, signature

MESSAGE = AlertMessage(
    "m1", "a1", "stopped", "orders", "0401-9f77-b9c0-0001", MessageKind.FIRING, 1_800_000_000.25, "FAILED",
    "STATUS FAILED", "Job <orders> has the status FAILED: ü & \ud800.", suppressed=2,
)  # fmt: skip


def test_webhook_has_the_facts_of_the_message() -> None:
    body = json.loads(body_of(MESSAGE, MessageFormat.WEBHOOK))
    assert (body["type"], body["timestamp"]) == ("job.alert.firing", "2027-01-15T08:00:00.250+00:00")
    assert body["data"] == {
        "id": "m1",
        "alert": "stopped",
        "job": "orders",
        "job_id": "0401-9f77-b9c0-0001",
        "status": "FAILED",
        "condition": "STATUS FAILED",
        "message": "Job <orders> has the status FAILED: ü & ?.",
        "suppressed": 2,
    }


def test_slack_message_escapes_its_markup() -> None:
    text = json.loads(body_of(MESSAGE, MessageFormat.SLACK))["text"]
    assert "Job &lt;orders&gt; has" in text and "ü &amp;" in text
    assert "2 earlier alerts" in text and "message m1" in text


def test_signature_is_that_of_standard_webhooks() -> None:
    """Compare with the example of the specification's reference libraries."""
    key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', key) == expected


def test_secret_without_the_prefix_is_the_key_itself() -> None:
    encoded = f"whsec_{base64.b64encode(b'plain text').decode()}"
    assert signature("m", 1, b"{}", "plain text") == signature("m", 1, b"{}", encoded)
    assert signature("m", 1, b"{}", "whsec_?") == signature("m", 1, b"{}", "whsec_?")


def test_headers_have_id_time_and_signature() -> None:
    headers = headers_of(MESSAGE, b"{}", "", 12.9)
    assert headers == {"Content-Type": "application/json", "webhook-id": "m1", "webhook-timestamp": "12"}
    signed = headers_of(MESSAGE, b"{}", "key", 12.9)
    assert signed["webhook-signature"] == signature("m1", 12, b"{}", "key")
