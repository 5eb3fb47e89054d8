"""The settings of object stores with the interface of Amazon S3, as settings of Spark.

Keys of access are references to secrets. They are resolved when Spark is started, and Spark redacts them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jetsql.setting_fields import setting
from jetsql.setting_values import parse_boolean, parse_reference

S3: Final = "s3"
"""The connector's key in `connectors.properties`."""
SCHEME: Final = "s3a://"

_KEY: Final = "spark.hadoop.fs.s3a"
_CONFS: Final[Mapping[str, str]] = {
    "s3_endpoint": f"{_KEY}.endpoint",
    "s3_region": f"{_KEY}.endpoint.region",
    "s3_access_key": f"{_KEY}.access.key",
    "s3_secret_key": f"{_KEY}.secret.key",
    "s3_session_token": f"{_KEY}.session.token",
}


LOADED_CONFS: Final[Mapping[str, str]] = {
    # The state store uploads local files. Hadoop uses the SDK's asynchronous client for that, which takes the answer
    # `100 Continue` of some stores for an error; streams use the client of all other requests.
    f"{_KEY}.optimized.copy.from.local.enabled": "false",
    # A task that waits for a store that does not answer occupies a task slot. By default, Hadoop waits 200 s for an
    # answer, and repeats a request up to 48 times. Two attempts remain here, the repetition by Hadoop and none by the
    # SDK below it: a batch is repeated until the store answers again.
    f"{_KEY}.connection.establish.timeout": "5s",
    f"{_KEY}.connection.timeout": "10s",
    f"{_KEY}.attempts.maximum": "0",
    f"{_KEY}.retry.limit": "1",
    # Hadoop's own default finds no class of JetSQL if the connector is among Spark's jars, as in an image.
    f"{_KEY}.classloader.isolation": "false",
}
"""Spark's settings of each engine with the connector."""


def _endpoint(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"https?://[\w.:\[\]-]+/?", value.strip()):
        raise ValueError("the URL of an object store, for example https://s3.eu-central-1.amazonaws.com")
    return value.strip().rstrip("/")


def _region(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\w-]+", value.strip()):
        raise ValueError("the name of a region, for example eu-central-1")
    return value.strip()


@dataclass(frozen=True)
class S3Settings:
    """Settings of the connector of S3."""

    s3: bool = setting(
        False,
        parse_boolean,
        "Load the connector of S3 at the start, for paths with `s3a://`. A `storage` with this scheme implies it.",
    )
    s3_endpoint: str | None = setting(None, _endpoint, "The URL of the object store.")
    s3_region: str | None = setting(None, _region, "The region of the buckets.")
    s3_path_style: bool = setting(
        False,
        parse_boolean,
        "Write buckets into the paths of requests, as most stores other than Amazon's require.",
    )
    s3_access_key: str | None = setting(None, parse_reference, "The id of the access key.", is_secret=True)
    s3_secret_key: str | None = setting(None, parse_reference, "The secret access key.", is_secret=True)
    s3_session_token: str | None = setting(None, parse_reference, "The token of temporary credentials.", is_secret=True)


def s3_confs(settings: S3Settings) -> dict[str, str]:
    """Return Spark's settings for the connector of S3."""
    confs = {key: str(value) for name, key in _CONFS.items() if (value := getattr(settings, name)) is not None}
    if settings.s3_endpoint is not None:
        confs[f"{_KEY}.connection.ssl.enabled"] = str(settings.s3_endpoint.startswith("https:")).lower()
    if settings.s3_path_style:
        confs[f"{_KEY}.path.style.access"] = "true"
    return confs
