"""Clients of other projects with an engine: `python -m tests.external_clients`."""
