"""The user who views a page, as far as pages differ by it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Viewer:
    """The user of a request."""

    name: str  # empty in an engine without users, whose only user needs no name
    is_admin: bool

    @property
    def manages_users(self) -> bool:
        """Return whether the page of all users is for this user."""
        return bool(self.name) and self.is_admin
