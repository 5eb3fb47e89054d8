"""Settings as fields of dataclasses: a field has the default, and its metadata has the parser and the description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar

D = TypeVar("D")
T = TypeVar("T")
_SPEC: Final = "spec"
_GROUP: Final = "group"


@dataclass(frozen=True)
class SettingSpec:
    """The specification of a setting, without its default."""

    parse: Callable[[object], object]
    """The parser, for values from all sources. The text of its ValueError completes "It must be ..."."""
    description: str
    """The purpose of the setting, as the reference manual has it."""
    is_secret: bool = False
    """The value can be a reference to a secret, which is not resolved before the start."""
    is_path: bool = False
    """A relative path in the configuration file is relative to the file."""
    is_advanced: bool = False
    """The default suits nearly every engine; the setting is on a page of the reference for these."""


def setting(default: D, parse: Callable[[object], T], description: str, **traits: bool) -> D | T:
    """Return the field of a setting with a default. traits: further fields of `SettingSpec`."""
    return field(default=default, metadata=metadata(SettingSpec(parse, description, **traits)))


def metadata(spec: SettingSpec) -> dict[str, SettingSpec]:
    """Return the metadata of the field of a setting, for one without a default."""
    return {_SPEC: spec}


def group(kind: type[T]) -> T:
    """Return the field of a group of settings. kind: the dataclass of the group."""
    return field(default_factory=kind, metadata={_GROUP: kind})


def setting_specs(kind: type[Any]) -> dict[str, SettingSpec]:
    """Return the settings of a dataclass by name, in the order of its fields, with those of its groups."""
    specs: dict[str, SettingSpec] = {}
    for each in fields(kind):
        if _SPEC in each.metadata:
            specs[each.name] = each.metadata[_SPEC]
        elif _GROUP in each.metadata:
            specs |= setting_specs(each.metadata[_GROUP])
    return specs


def make_settings(kind: type[T], values: Mapping[str, Any], **others: Any) -> T:
    """Make a dataclass and its groups from the values of settings. others: its fields that are no settings."""
    arguments = dict(others)
    for each in fields(kind):  # type: ignore[arg-type]
        if _GROUP in each.metadata:
            arguments[each.name] = make_settings(each.metadata[_GROUP], values)
        elif each.name in values:
            arguments[each.name] = values[each.name]
    return kind(**arguments)


def values_by_name(settings: Any) -> dict[str, Any]:
    """Return the values of the settings of a dataclass and of its groups by name, in the order of the fields."""
    values: dict[str, Any] = {}
    for each in fields(settings):
        if _SPEC in each.metadata:
            values[each.name] = getattr(settings, each.name)
        elif _GROUP in each.metadata:
            values |= values_by_name(getattr(settings, each.name))
    return values
