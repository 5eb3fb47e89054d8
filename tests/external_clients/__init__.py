"""Other people's clients against an engine of ours: `python -m tests.external_clients`."""
