"""Explain errors of Hadoop's file system for S3: they name methods, classes and request ids, and seldom the problem."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from jetsql.jobs.model.job import Cause

_CONNECTOR: Final = re.compile(r"hadoop\.fs\.s3a\.|software\.amazon\.awssdk\.")
_PATH: Final = re.compile(r"s3a://[^\s'\"`,;:|\])]+")
_NO_CONNECTOR: Final = re.compile(r'S3AFileSystem not found|No FileSystem for scheme "s3a?"')
_NO_BUCKET: Final = re.compile(r"NoSuchBucket|[Bb]ucket does not exist|UnknownStoreException")
_NO_CREDENTIALS: Final = re.compile(r"NoAuthWithAWS|No AWS Credentials|NoAwsCredentials|Unable to load credentials")
_REFUSED: Final = re.compile(
    r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|AccessDenied|Access Denied|Forbidden"
    r"|Status Code: 40[13]"
)
_AWAY: Final = re.compile(
    r"Connection refused|Connection reset|UnknownHost|Unable to execute HTTP request|timed? ?out|NoHttpResponse"
    r"|failed to respond|Status Code: 5\d\d|SlowDown|Network is unreachable|No route to host"
)
_DETAIL: Final = re.compile(
    r"(?:Connect to \S+ .*?failed: )?(?:Connection refused|Connection reset|[\w. ]*timed out)|UnknownHostException: \S+"
    r"|Status Code: 5\d\d|SlowDown",
    re.I,
)
_KEYS_HINT: Final = "Check s3_access_key and s3_secret_key, and what the key may do with the bucket."
_NOTHING_LOST: Final = "Nothing is lost: a live job continues with its next restart or with RESUME JOB."


def explain_object_store_error(cause: Cause, messages: tuple[str, ...], frames: str, innermost: str) -> Cause | None:
    """Return the cause in words, or None when it does not come from an object store.

    messages: of the exception and its causes, the outermost first. innermost: the class of the last one.
    """
    text = "\n".join((*messages, innermost))
    if _NO_CONNECTOR.search(text):
        message = "The connector of S3 is not loaded, which reads and writes paths with s3a://."
        hint = "Start the engine with --s3 or the setting s3 = true."
        return cause.explained("STORAGE_NOT_USABLE", message, _path(messages), hint)
    if not _CONNECTOR.search(f"{frames}\n{text}"):
        return None
    path = _path(messages)
    store = f"the object store{f' at {path}' if path else ''}"
    if _NO_BUCKET.search(text):
        bucket = "/".join(path.split("/")[:3]) or "The bucket"
        hint = f"Create it, or correct the location. {_NOTHING_LOST}"
        return cause.explained("STORAGE_NOT_USABLE", f"{bucket} does not exist: there is no such bucket.", path, hint)
    if _NO_CREDENTIALS.search(text):
        message = f"Cannot use {store}: there are no credentials."
        return cause.explained("STORAGE_NOT_USABLE", message, path, "Set s3_access_key and s3_secret_key.")
    refused = _REFUSED.search(text)
    if refused is not None:
        reason = refused.group()
        message = f"Cannot use {store}: it refuses the access ({reason})."
        return cause.explained("STORAGE_NOT_USABLE", message, path, f"{_KEYS_HINT} {_NOTHING_LOST}")
    if _AWAY.search(text):
        detail = _DETAIL.search(text)
        reason = detail.group() if detail is not None else cause.message
        message = f"{store[0].upper()}{store[1:]} does not answer: {reason}."
        away = cause.explained("EXTERNAL_SYSTEM_UNAVAILABLE", message, path, _NOTHING_LOST)
        return replace(away, external_outage=True)
    return None


def _path(messages: tuple[str, ...]) -> str:
    """Return the path that the innermost message with a path names; empty without one."""
    return next((match.group().rstrip(".") for each in reversed(messages) if (match := _PATH.search(each))), "")
