"""The options of the server: of the command line, and of the editor, which go first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jetsql.client.background_connection import Connect

Connector = Callable[[str | None, str | None], Connect]
"""Return how to connect to the engine of a home or at a URL. Raises ValueError for a wrong address."""


@dataclass(frozen=True)
class ServerOptions:
    """The options."""

    connector: Connector
    home: str | None = None  # the engine's folder; None for the default
    url: str | None = None  # of the engine, instead of a home
    uses_engine: bool = True  # take names from a running engine
    variables: Mapping[str, str] = field(default_factory=dict)  # the values of ${name}
    documentation: str = ""  # the URL of the documentation's site; empty for no links

    def with_editor(self, given: object) -> tuple[ServerOptions, list[str]]:
        """Return the options with the editor's `initializationOptions`, and a message for each that is wrong."""
        if given is None:
            return self, []
        if not isinstance(given, Mapping):
            return self, ["The initialization options are not an object."]
        options, messages = self, []
        for key, value in given.items():
            changed = options._changed(key, value)
            if changed is None:
                known = ", ".join(_TYPES)
                messages.append(f"The initialization option {key!r} is unknown or wrong. Options: {known}.")
            else:
                options = changed
        return options, messages

    def _changed(self, key: str, value: Any) -> ServerOptions | None:
        if key not in _TYPES or not isinstance(value, _TYPES[key]):
            return None
        if key == "home":
            return replace(self, home=value, url=None)
        if key == "url":
            return replace(self, url=value, home=None)
        if key == "engine":
            return replace(self, uses_engine=value)
        if key == "documentation":
            return replace(self, documentation=value)
        return replace(self, variables={**self.variables, **{str(name): str(each) for name, each in value.items()}})


_TYPES: Mapping[str, Any] = {"home": str, "url": str, "engine": bool, "variables": Mapping, "documentation": str}
