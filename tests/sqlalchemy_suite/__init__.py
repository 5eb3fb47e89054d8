"""What clients are tried with that need an environment of their own: see `__main__.py`."""
