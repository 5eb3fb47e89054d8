"""All that is generated: parts of pages by their names, and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from jetsql.language import statement_syntax
from tools.docs import (
    capability_parts,
    command_parts,
    error_parts,
    grammar,
    http_parts,
    life_cycle_picture,
    settings_tables,
    statement_parts,
    system_parts,
)
from tools.docs.markdown import fill

ROOT: Final = Path(__file__).parents[2]
REFERENCE: Final = ROOT / "docs" / "reference"

PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "capabilities": capability_parts.capabilities,
    "limits": capability_parts.limits,
    "capabilities of the README": partial(capability_parts.capabilities, "docs/"),
    "limits of the README": partial(capability_parts.limits, "docs/"),
    "kinds of tables": capability_parts.table_kinds,
    "options": settings_tables.options,
    "option values": settings_tables.option_values,
    "options of Kafka tables": settings_tables.kafka_table_options,
    "settings": settings_tables.settings,
    "advanced settings": settings_tables.advanced_settings,
    "shell commands": settings_tables.shell_commands,
    "shell settings": settings_tables.shell_settings,
    "errors": error_parts.errors,
    "runbook": error_parts.runbook,
    "relations": system_parts.relations,
    "rights": system_parts.rights,
    **{f"resource {kind}": partial(system_parts.resource_fields, kind) for kind in ("jetsqljobs", "jetsqlsnapshots")},
    "metrics": system_parts.metrics,
    "program": command_parts.program,
    "commands": command_parts.commands,
    "http operations": http_parts.operations,
    "http schemas": http_parts.schemas,
    "diagram options": partial(statement_parts.diagram_only, "options"),
    **{f"statement {rule}": partial(statement_parts.statement, rule) for rule in statement_syntax.statement_rules()},
}
"""The text of each part, by the name that a page gives it: `<!-- generated: NAME -->`."""


def written_pages() -> list[Path]:
    """Return the pages that can have generated parts: the README, and those of the site."""
    return [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


def generated_files() -> dict[Path, str]:
    """Return the content of all files of the documentation that the code determines, wholly or in parts."""
    pages = {path: path.read_text(encoding="utf-8") for path in written_pages()}
    filled = {path: fill(text, lambda name: PARTS[name]()) for path, text in pages.items()}
    diagrams = {
        REFERENCE / statement_parts.diagram_file(rule): grammar.diagram(rule)
        for rule in (*statement_syntax.statement_rules(), "options")
    }
    pictures = {ROOT / "docs" / "assets" / "life-cycle.svg": life_cycle_picture.picture()}
    return {path: text for path, text in filled.items() if "<!-- generated: " in text} | diagrams | pictures
