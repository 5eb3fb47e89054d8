"""The version of JetSQL, which pyproject.toml, `jetsql --version` and the versions stored with a job read."""

VERSION = "0.1.0"
