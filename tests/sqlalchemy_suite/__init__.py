"""SQLAlchemy's own test suite, which needs an environment of its own: see `__main__.py`."""
