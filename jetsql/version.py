"""The version of JetSQL: pyproject.toml, `jetsql --version` and the versions stored with a job all read it here."""

VERSION = "0.1.0"
