"""Parsers of the values of settings, for values from all sources.

The text of the ValueError that a parser raises completes "It must be ...".
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from jetsql.errors import EngineError
from jetsql.secret_references import is_reference

_LABEL: Final = r"([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?=[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?"
_SELECTOR: Final = re.compile(f"{_LABEL}(,{_LABEL})*")

URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
"""The begin of a URI, which a path does not have."""

NONE: Final = "none"
"""The value of a setting for a folder that is not used."""


def refusal(message: str, hint: str = "") -> EngineError:
    """Return the error for an invalid setting."""
    return EngineError("INVALID_SETTING", message, hint=hint)


def parse_folder(value: object) -> Path:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("the path of a folder")
    try:
        folder = Path(value).expanduser().absolute()
    except RuntimeError:
        raise ValueError("the path of a folder, with an existing user after ~") from None
    if any(char in str(folder) for char in '";\n\r'):
        raise ValueError("a path without \", ; and line breaks, which Java and the catalogue's database do not accept")
    return folder


def parse_file(value: object) -> Path:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("the path of a file")
    return Path(os.path.expanduser(value)).absolute()


def parse_user(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("the name of a user")
    return value.strip()


def parse_optional_folder(value: object) -> Path | None:
    """Return the path of a folder; None for the word `none`."""
    if value == NONE:
        return None
    try:
        return parse_folder(value)
    except ValueError as expected:
        raise ValueError(f"{expected}, or {NONE}") from None


def parse_storage(value: object) -> str:
    expected = ValueError("the path of a folder, or a URI such as hdfs://host:8020/jetsql")
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise expected
    if not URI.match(value.strip()):
        return str(parse_folder(value))
    if re.search(r"[\s\"';]", value.strip()):
        raise expected
    return value.strip().rstrip("/")


def parse_reference(value: object) -> str:
    if not isinstance(value, str) or not is_reference(value):
        raise ValueError("a reference to a secret, secret:env:NAME or secret:file:PATH")
    return value


def parse_master_url(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a master URL of Spark, such as local[*] or spark://host:7077")
    return value.strip()


def parse_memory(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[1-9][0-9]*[kmgt]b?", value.strip().lower()):
        raise ValueError("a size such as 900m or 2g")
    return value.strip().lower()


def parse_byte_count(value: object) -> int:
    return _whole_number(value, 1, " of bytes")


def parse_seconds(value: object) -> float:
    return _number(value, "seconds")


def parse_positive_seconds(value: object) -> float:
    limits = "more than 0"
    number = _number(value, "seconds", limits)
    if number == 0:
        raise ValueError(f"a number of seconds, {limits}")
    return number


def parse_days(value: object) -> float:
    return _number(value, "days")


def _number(value: object, unit: str, limits: str = "0 or more") -> float:
    expected = ValueError(f"a number of {unit}, {limits}")
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        raise expected from None
    if not (math.isfinite(number) and number >= 0):
        raise expected
    return number


def parse_percent(value: object) -> float:
    limits = "more than 0 and at most 100"
    number = _number(value, "percent", limits)
    if not 0 < number <= 100:
        raise ValueError(f"a number of percent, {limits}")
    return number


def parse_count(value: object) -> int:
    return _whole_number(value, 0)


def parse_positive_count(value: object) -> int:
    return _whole_number(value, 1)


def _whole_number(value: object, least: int, of: str = "") -> int:
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,18}", str(value)) or int(str(value)) < least:
        raise ValueError(f"a whole number{of}, {least} or more")
    return int(str(value))


def parse_selector(value: object) -> str:
    """Return a label selector of Kubernetes, whose labels have these values."""
    if not isinstance(value, str) or len(value) > 1000 or not _SELECTOR.fullmatch(value.strip()):
        raise ValueError("the labels of pods, such as app=jetsql,release=orders")
    return value.strip()


def parse_boolean(value: object) -> bool:
    """Return the boolean of a value from a file (a boolean) or from the environment (a text)."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def parse_port(value: object) -> int:
    expected = ValueError("a port number, 0 to 65535 (0: any free port)")
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,5}", str(value)) or int(str(value)) > 65535:
        raise expected
    return int(str(value))


def parse_address(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\w.:-]+", value.strip()):
        raise ValueError("an address or name of this machine, such as 127.0.0.1 or 0.0.0.0")
    return value.strip()


def parse_addresses(value: object) -> tuple[str, ...]:
    """Return the addresses of a list from a file, or of a text with blanks or commas from the environment."""
    addresses = value if isinstance(value, list) else re.split(r"[\s,]+", str(value).strip())
    return tuple(parse_address(address) for address in addresses if address)


def parse_receiver(value: object, path: str) -> str:
    """Return the URL of a receiver of events. path: of one whose URL has none"""
    expected = ValueError("the URL of a receiver with http:// or https://, without user and password")
    if not isinstance(value, str) or not value.isascii() or any(sign.isspace() for sign in value.strip()):
        raise expected
    text = value.strip()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise expected from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or "\\" in text or parts.fragment:
        raise expected
    return text if parts.path.strip("/") or parts.query else text.rstrip("/") + path
