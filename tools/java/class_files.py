"""Read what a Java class declares, and which members of other classes it refers to, from its class file (JVMS 4)."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PRIVATE: Final = 0x0002
STATIC: Final = 0x0008
FINAL: Final = 0x0010
INTERFACE: Final = 0x0200
ABSTRACT: Final = 0x0400
_TYPE: Final = re.compile(r"L([^;]+);")
# The sizes of the entries of a constant pool without their tags, by tag. Tag 1 (text) has a length of its own.
_SIZES: Final = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
_LAMBDA: Final = "$anonfun$"  # what Scala's names of methods for lambdas begin with
_CLASS, _FIELD, _METHOD, _INTERFACE_METHOD, _DESCRIBED = 7, 9, 10, 11, 12


@dataclass(frozen=True, slots=True)
class Declared:
    """The part of a class that other classes see."""

    access: int
    superclass: str | None
    interfaces: tuple[str, ...]
    members: Mapping[str, int]
    """The access flags of each member that is neither private nor a lambda. A key is such as `size:()I`."""

    @property
    def is_interface(self) -> bool:
        return bool(self.access & INTERFACE)


@dataclass(frozen=True, slots=True)
class Reference:
    """A use of a member of another class."""

    owner: str
    member: str
    interface: bool | None
    """True if the bytecode expects an interface as the owner; None for a field, where it does not matter."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A class with its uses of others."""

    name: str
    declared: Declared
    references: frozenset[Reference]
    classes: frozenset[str]
    """Every class that the class names: in instructions, and in descriptors of members."""


class _Pool:
    """The constant pool of a class file."""

    def __init__(self, data: bytes) -> None:
        (count,) = struct.unpack_from(">H", data, 8)
        self._data = data
        self._places: list[int] = [0] * count  # of each entry's tag
        position, index = 10, 1
        while index < count:
            self._places[index] = position
            tag = data[position]
            position += 3 + struct.unpack_from(">H", data, position + 1)[0] if tag == 1 else 1 + _SIZES[tag]
            index += 2 if tag in (5, 6) else 1  # long and double take two indices
        self.end = position

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the tag and the index of each entry."""
        return ((self._data[place], index) for index, place in enumerate(self._places) if place)

    def text(self, index: int) -> str:
        place = self._places[index]
        (length,) = struct.unpack_from(">H", self._data, place + 1)
        return self._data[place + 3 : place + 3 + length].decode("utf-8", "replace")

    def name(self, index: int) -> str:
        """Return the name of a class entry."""
        return self.text(struct.unpack_from(">H", self._data, self._places[index] + 1)[0])

    def pair(self, index: int) -> tuple[int, int]:
        first, second = struct.unpack_from(">HH", self._data, self._places[index] + 1)
        return first, second


def _members(pool: _Pool, data: bytes, position: int) -> tuple[dict[str, int], int]:
    """Read the fields or the methods at a position, and return them with the position after them."""
    (count,) = struct.unpack_from(">H", data, position)
    position += 2
    found = {}
    for _ in range(count):
        access, name, descriptor, attributes = struct.unpack_from(">HHHH", data, position)
        position += 8
        for _ in range(attributes):
            position += 6 + struct.unpack_from(">I", data, position + 2)[0]
        if not access & PRIVATE and not pool.text(name).startswith(_LAMBDA):
            found[f"{pool.text(name)}:{pool.text(descriptor)}"] = access
    return found, position


def _declared(pool: _Pool, data: bytes) -> tuple[str, Declared]:
    access, this, superclass, count = struct.unpack_from(">HHHH", data, pool.end)
    interfaces = struct.unpack_from(f">{count}H", data, pool.end + 8)
    fields, position = _members(pool, data, pool.end + 8 + 2 * count)
    methods, _ = _members(pool, data, position)
    parent = pool.name(superclass) if superclass else None
    return pool.name(this), Declared(access, parent, tuple(map(pool.name, interfaces)), fields | methods)


def declared(data: bytes) -> Declared:
    """Return what a class file declares."""
    return _declared(_Pool(data), data)[1]


def compiled(data: bytes) -> Compiled:
    """Return what a class file declares and uses."""
    pool = _Pool(data)
    name, own = _declared(pool, data)
    references, classes = set(), set()
    for tag, index in pool:
        if tag == _CLASS:
            name_or_array = pool.name(index)
            classes |= named_classes(name_or_array) if name_or_array.startswith("[") else {name_or_array}
        elif tag == _DESCRIBED:
            classes |= named_classes(pool.text(pool.pair(index)[1]))
        elif tag in (_FIELD, _METHOD, _INTERFACE_METHOD):
            owner, described = pool.pair(index)
            member = ":".join(map(pool.text, pool.pair(described)))
            expected = None if tag == _FIELD else tag == _INTERFACE_METHOD
            references.add(Reference(pool.name(owner), member, expected))
    for member in own.members:
        classes |= named_classes(member.partition(":")[2])
    return Compiled(name, own, frozenset(references), frozenset(classes))


def named_classes(descriptor: str) -> set[str]:
    """Return the classes in a descriptor of a member."""
    return set(_TYPE.findall(descriptor))


class Jars:
    """The classes of some jars. Each is read when it is first needed; of two with one name, the first counts."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._found: dict[str, tuple[zipfile.ZipFile, str]] = {}
        self._read: dict[str, Declared] = {}
        for path in paths:
            jar = zipfile.ZipFile(path)
            for entry in jar.namelist():
                if entry.endswith(".class") and not entry.startswith("META-INF/") and "-info." not in entry:
                    self._found.setdefault(entry.removesuffix(".class"), (jar, entry))

    def names(self) -> Iterable[str]:
        return self._found.keys()

    def bytes_of(self, name: str) -> bytes:
        jar, entry = self._found[name]
        return jar.read(entry)

    def get(self, name: str) -> Declared | None:
        """Return what a class declares, or None if it is not in the jars."""
        if name not in self._read and name in self._found:
            self._read[name] = declared(self.bytes_of(name))
        return self._read.get(name)
