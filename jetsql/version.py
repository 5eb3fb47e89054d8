"""The version of JetSQL: what builds wheels, `jetsql --version` and the versions stored with a job read it here."""

VERSION = "0.2.0"
