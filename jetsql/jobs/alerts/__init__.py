"""Alerts: the conditions that jobs meet, the messages about them, and their delivery. The manager evaluates them."""
