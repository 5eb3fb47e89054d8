"""Homes that releases left when they were killed; every later release must continue them.

`recording` makes a home, `restoring` restores it at a new path, `program` runs an engine on it.
"""
