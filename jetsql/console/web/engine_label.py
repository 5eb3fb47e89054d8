"""The name and the colour of an engine, by which its pages differ from those of other engines."""

from __future__ import annotations

from dataclasses import dataclass

NO_COLOUR = "none"


@dataclass(frozen=True)
class EngineLabel:
    """The label of an engine, from its settings `console_name` and `console_colour`."""

    name: str = ""
    colour: str = NO_COLOUR

    @property
    def has_colour(self) -> bool:
        """Return whether the engine has a colour of its own."""
        return self.colour != NO_COLOUR

    @property
    def icon(self) -> str:
        """Return the name of the icon of its tabs."""
        return f"icon-{self.colour}.svg" if self.has_colour else "icon.svg"
