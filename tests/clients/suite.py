"""All of SQLAlchemy's suite for dialects of third parties; what Spark has not stands in `requirements`."""

from sqlalchemy.testing.suite import *  # noqa: F403
