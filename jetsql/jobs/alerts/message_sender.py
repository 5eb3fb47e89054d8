"""Send the message of an alert to its receiver, with the rights that the owner of the alert has now."""

from __future__ import annotations

from collections.abc import Callable

from jetsql.failpoints import failpoint
from jetsql.jobs.access.access_state import AccessState, alert_object
from jetsql.jobs.access.connection_records import StoredConnections
from jetsql.jobs.alerts.alert_commands import AlertSettings
from jetsql.jobs.alerts.alert_records import AlertMessage, AlertRecord, MessageFormat
from jetsql.jobs.alerts.alert_secrets import SecretRefused, check_host, find_secret, resolve
from jetsql.jobs.alerts.message_formats import body_of, headers_of
from jetsql.jobs.alerts.receivers import Attempt, call_webhook, run_command
from jetsql.jobs.audit.audit_event import DENIED, OK, AuditedObject
from jetsql.jobs.audit.audit_log import AuditLog
from jetsql.request import Caller
from jetsql.secret_references import is_reference


class MessageSender:
    """The way from a message to its receiver. Any thread can use it."""

    def __init__(
        self,
        settings: AlertSettings,
        clock: Callable[[], float],
        access: Callable[[], AccessState],
        connections: Callable[[], StoredConnections],
        audit: AuditLog,
    ) -> None:
        """Create it. access, connections: return what exists now"""
        self._audit = audit
        self._settings, self._clock = settings, clock
        self._access, self._connections = access, connections

    def send(self, message: AlertMessage, alert: AlertRecord | None) -> Attempt:
        """Send a message to the receiver that the alert has now. alert: None if it was dropped"""
        if alert is None:
            return Attempt("The alert was dropped.", is_final=True)
        attempt = self._run(message, alert) if alert.is_command else self._call(message, alert)
        if not attempt.error:
            failpoint("alert-sent", message.job)
        return attempt

    def _run(self, message: AlertMessage, alert: AlertRecord) -> Attempt:
        command = self._settings.command(alert.target)
        if command is None:
            return Attempt(f"The configuration of the engine has no command named {alert.target}.")
        access = self._access()
        if not access.is_admin(access.owner_of(alert_object(alert.name))):
            return Attempt("The owner of the alert lacks the right ADMIN, which a command needs.")
        return run_command(command.words, body_of(message, MessageFormat.WEBHOOK), message.id)

    def _call(self, message: AlertMessage, alert: AlertRecord) -> Attempt:
        try:
            url, secret = self._secrets(alert)
        except SecretRefused as error:
            return Attempt(str(error))
        body = body_of(message, alert.format)
        return call_webhook(url, body, headers_of(message, body, secret, self._clock()))

    def _secrets(self, alert: AlertRecord) -> tuple[str, str]:
        """Return the URL, and the secret for the signature, empty for none. Raises SecretRefused."""
        access = self._access()
        owner = access.owner_of(alert_object(alert.name))
        if is_reference(alert.target):
            url = self._read(alert, alert.target, owner, "")
        elif access.is_admin(owner):
            url = alert.target
        else:
            raise SecretRefused("The owner of the alert lacks the right ADMIN, which a URL that is no secret needs.")
        return url, self._read(alert, alert.secret, owner, url) if alert.secret else ""

    def _read(self, alert: AlertRecord, reference: str, owner: str, url: str) -> str:
        """Return the value of a secret. url: the receiver; empty if the value is its URL. Raises SecretRefused."""
        outcome = OK
        try:
            secret = find_secret(reference, owner, self._access(), self._connections())
            if url:
                check_host(secret, url)
            value = resolve(secret)
            check_host(secret, url or value)
            return value
        except SecretRefused as error:
            outcome = f"failed: {error.condition}" if error.condition else DENIED
            raise
        finally:
            used = AuditedObject("USAGE", f"SECRET {reference.removeprefix('secret:')}", outcome != DENIED)
            detail = f"For the alert {alert.name}."
            self._audit.note("secret read", Caller(owner), outcome=outcome, objects=(used,), detail=detail)
