"""Homes that releases left behind when they were killed, for every later one to prove that it goes on with them.

`recording` makes one, `restoring` puts one at a new place, `program` runs an engine on it.
"""
