"""Errors of Hadoop's file system for S3, in words."""

from __future__ import annotations

import pytest

from jetsql.engine.errors.remedies import Trace, explain_cause
from jetsql.jobs.model.job import Cause

_FRAMES = "org.apache.hadoop.fs.s3a.S3AUtils.translateException(S3AUtils.java:227)"


def _explain(*messages: str, innermost: str = "software.amazon.awssdk.services.s3.model.S3Exception") -> Cause:
    return explain_cause(Cause(messages[-1]), Trace(messages, _FRAMES, (innermost,)), None)


@pytest.mark.parametrize(
    ("message", "condition", "expected", "is_away"),
    [
        (
            "s3a://gone/t: getFileStatus on s3a://gone/t: NoSuchBucketException: The specified bucket does not exist"
            " (Service: S3, Status Code: 404)",
            "STORAGE_NOT_USABLE",
            "s3a://gone does not exist",
            False,
        ),
        (
            "s3a://lake/t: getFileStatus on s3a://lake/t: S3Exception: (Service: S3, Status Code: 403):403 Forbidden",
            "STORAGE_NOT_USABLE",
            "Cannot use the object store at s3a://lake/t: it refuses the access",
            False,
        ),
        (
            "s3a://lake: NoAuthWithAWSException: No AWS Credentials provided by SimpleAWSCredentialsProvider",
            "STORAGE_NOT_USABLE",
            "there are no credentials",
            False,
        ),
        (
            "s3a://lake/t: SdkClientException: Unable to execute HTTP request: Connect to 127.0.0.1:9 [/127.0.0.1]"
            " failed: Connection refused (SDK Attempt Count: 3)",
            "EXTERNAL_SYSTEM_UNAVAILABLE",
            "The object store at s3a://lake/t does not answer: Connect to 127.0.0.1:9",
            True,
        ),
        (
            "s3a://lake/t: AwsServiceException: Please reduce your request rate (Service: S3, Status Code: 503)",
            "EXTERNAL_SYSTEM_UNAVAILABLE",
            "does not answer: Status Code: 503.",
            True,
        ),
    ],
)
def test_errors_have_messages(message: str, condition: str, expected: str, is_away: bool) -> None:
    cause = _explain("Job aborted", message)
    assert cause.condition == f"JETSQL.{condition}"
    assert expected in cause.message
    assert cause.external_outage is is_away and cause.retryable
    assert cause.hint


def test_a_missing_connector() -> None:
    message = "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"
    cause = explain_cause(Cause(message), Trace((message,), "", ("java.lang.ClassNotFoundException",)), None)
    assert "--s3" in cause.hint


def test_other_network_errors_are_no_object_store_errors() -> None:
    message = "Connect to 127.0.0.1:9 failed: Connection refused"
    cause = explain_cause(
        Cause(message), Trace((message,), "java.net.Socket.connect", ("java.net.ConnectException",)), None
    )
    assert cause.external_outage and "object store" not in cause.message
