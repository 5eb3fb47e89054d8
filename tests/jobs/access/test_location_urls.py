"""The one form of the URL of a location, and URLs that may mean several folders."""

from __future__ import annotations

import pytest

from jetsql.jobs.access.location_urls import location_url


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("s3a://bucket/in", "s3a://bucket/in"),
        ("S3A://Bucket/In/", "s3a://bucket/In"),
        ("s3a://bucket", "s3a://bucket"),
        ("s3a://bucket/", "s3a://bucket"),
        ("file:/data/in", "file:///data/in"),
        ("file:///data/in/", "file:///data/in"),
        ("FILE:/", "file:///"),
        ("hdfs://Name:8020/a b", "hdfs://name:8020/a b"),
        ("abfss://box@account.dfs.core.windows.net/x", "abfss://box@account.dfs.core.windows.net/x"),
    ],
)
def test_one_form(text: str, stored: str) -> None:
    assert location_url(text) == stored
    assert location_url(stored) == stored


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no scheme"),
        ("/data/in", "no scheme"),
        ("in", "no scheme"),
        ("file:", "absolute path"),
        ("file:in", "no scheme"),
        ("file://host/in", "no host"),
        ("s3a:///in", "no host or bucket"),
        ("s3a:/in", "no host or bucket"),
        ("s3://bucket/in", "scheme"),
        ("har://file-localhost/x", "scheme"),
        ("http://host/in", "scheme"),
        ("s3a://key@bucket/in", "user"),
        ("s3a://bucket/in/../out", "'..'"),
        ("s3a://bucket/./in", "'.'"),
        ("s3a://bucket//in", "empty name"),
        ("s3a://bucket/in//", "empty name"),
        ("s3a://bucket/%2e%2e", "another way"),
        ("s3a://bucket/{a,b}", "another way"),
        ("s3a://bucket/*", "another way"),
        ("s3a://bucket/in\\x", "another way"),
        ("s3a://bucket/in\n", "another way"),
    ],
)
def test_texts_that_name_no_folder_for_certain(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        location_url(text)
