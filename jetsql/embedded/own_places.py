"""The files and folders of an engine, which no right on a location opens to users.

They are the home, the storage and the warehouses, and the files that the settings name: configuration, certificates,
keys and secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Final

from jetsql.home.storage import Storage
from jetsql.settings.engine_settings import Settings
from jetsql.settings.given_settings import config_file

_SECRET_FILE: Final = "secret:file:"
_WAREHOUSE: Final = ".warehouse"


def own_places(settings: Settings, storage: Storage, warehouse: str) -> tuple[str, ...]:
    """Return the files and folders as absolute paths or URIs. warehouse: of the catalogue of Spark's sessions"""
    found = [str(settings.home), storage.root, warehouse, str(config_file().absolute()), *_named(settings)]
    found += [value for name, value in settings.start_conf.items() if name.endswith(_WAREHOUSE)]
    return tuple(dict.fromkeys(place for place in found if place.startswith("/") or ":/" in place))


def _named(value: object) -> Iterator[str]:
    """Return the files that a value of a setting names, and those of the settings in it."""
    if isinstance(value, Path):
        yield str(value.absolute())
    elif isinstance(value, str):
        yield value.removeprefix(_SECRET_FILE) if value.startswith((_SECRET_FILE, "/")) else ""
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _named(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _named(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _named(getattr(value, field.name))
