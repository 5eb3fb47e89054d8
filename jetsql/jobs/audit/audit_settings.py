"""The settings of the audit log, a part of the engine's settings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jetsql.setting_fields import setting
from jetsql.setting_values import parse_boolean


class AuditMode(StrEnum):
    """The choice whether there is an audit log, and what happens to a statement that it cannot record."""

    OFF = "off"
    ON = "on"  # the statement runs, and the engine's log has a warning
    REQUIRED = "required"  # the statement is refused


def parse_audit(value: object) -> AuditMode:
    if isinstance(value, bool):  # as TOML and other files may write on and off
        return AuditMode.ON if value else AuditMode.OFF
    try:
        return AuditMode(str(value).strip().lower())
    except ValueError:
        raise ValueError("off, on or required") from None


@dataclass(frozen=True)
class AuditSettings:
    """Settings of the audit log."""

    audit: AuditMode = setting(
        AuditMode.ON,
        parse_audit,
        "Record logins, statements and changes of rights in `audit.log`: `off`, `on`, or `required`, with which a"
        " statement that cannot be recorded is refused before it runs.",
    )
    audit_text: bool = setting(
        False, parse_boolean, "Record the texts of statements as well, with secrets redacted, up to 10,000 characters."
    )
