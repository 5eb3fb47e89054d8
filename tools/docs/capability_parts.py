"""The tables and lists of capabilities in the pages."""

from __future__ import annotations

from tools.docs.capabilities import CAPABILITIES, LIMITS, TABLE_KINDS, guarantee
from tools.docs.markdown import table


def capabilities(folder: str = "") -> str:
    """Return a table of all capabilities. folder: leads from the page to the folder `docs`"""
    rows = [(f"[{each.name}]({folder}{each.page})", each.text) for each in CAPABILITIES]
    return table(("JetSQL has", "which means"), rows)


def limits(folder: str = "") -> str:
    """Return a list of all limits. folder: leads from the page to the folder `docs`"""
    return "\n".join(f"- **[{each.name}]({folder}{each.page}).** {each.text}" for each in LIMITS)


def table_kinds() -> str:
    rows = [(each.name, each.streams, f"{guarantee(each)}{each.more}", each.joined) for each in TABLE_KINDS]
    return table(("kind of table", "`FROM STREAM`", "write into it", "join it with a stream"), rows)
