"""The version of JetSQL, which the builds, `jetsql --version` and the versions stored with a job read."""

VERSION = "0.2.0"
