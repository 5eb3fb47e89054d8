"""Check that the one jar of JetSQL links with every supported Spark.

The jar is compiled against the newest Spark. A member that an older Spark lacks is a NoSuchMethodError there, at its
first use. This check finds each of them without starting Spark, from the references in the class files.

    python -m tools.java.linkage               # compares with the jars of the older Sparks
    python -m tools.java.linkage record        # records what they declare otherwise, in tools/java/sparks/

An older Spark has 450 MB, so `make test` compares with the records. They have the differences from the newest Spark in
all classes that JetSQL could use, not only in those that it uses today: a change of the Java sources needs no new
record. Only a new version of Spark or of a connector does. `make test-sparks` has the jars, compares with them, and
fails for records that are out of date.

It does not find constants of Spark: javac copies the value that the newest Spark has.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from tools.java.class_files import ABSTRACT, FINAL, STATIC, Compiled, Declared, Jars, Reference, compiled
from tools.java.jar import JAR
from tools.java.older_sparks import OLDER, install, jars
from tools.java.packages import connectors, spark_jars

RECORDS: Final = Path(__file__).with_name("sparks")
OURS: Final = "dev/jetsql/"
# Spark's packages, and those of its libraries that JetSQL uses; a record has no others.
_USABLE: Final = (
    "org/apache/spark/",
    "org/apache/arrow/",
    "org/apache/kafka/",
    "com/fasterxml/jackson/",
    "org/apache/avro/",
)
_PLATFORM: Final = ("java/", "javax/", "jdk/", "sun/", "com/sun/")  # the classes of Java
# Methods of the classes of Java that Spark's classes extend most. Of all others, any method is taken as given.
_OF_PLATFORM: Final = {
    "java/lang/Object": ("<init>", "equals", "hashCode", "toString", "getClass", "notify", "wait", "clone", "finalize"),
    "java/lang/Cloneable": (),
    "java/lang/Comparable": ("compareTo",),
    "java/lang/Runnable": ("run",),
    "java/lang/AutoCloseable": ("close",),
    "java/io/Closeable": ("close",),
    "java/io/Externalizable": ("readExternal", "writeExternal"),
    "java/io/Serializable": (),
}


class Classes(Protocol):
    """The classes of a Spark."""

    def get(self, name: str) -> Declared | None: ...


class Recorded:
    """The classes of an older Spark: those of the newest one, and the recorded differences."""

    def __init__(self, newest: Classes, record: Mapping[str, Any]) -> None:
        self._newest = newest
        self._differences = record["classes"]

    def get(self, name: str) -> Declared | None:
        newest = self._newest.get(name)
        if name not in self._differences:
            return newest
        change = self._differences[name]
        if change is None:
            return None
        members = dict(newest.members) if newest else {}
        for member in change["lacks"]:
            del members[member]
        return Declared(change["access"], change["extends"], tuple(change["implements"]), members | change["has"])


def difference(older: Declared | None, newest: Declared | None) -> dict[str, Any] | None:
    """Return the record of a class of an older Spark."""
    if older is None:
        return None
    known = newest.members if newest else {}
    return {
        "access": older.access,
        "extends": older.superclass,
        "implements": list(older.interfaces),
        "lacks": sorted(known.keys() - older.members.keys()),
        "has": {member: access for member, access in sorted(older.members.items()) if known.get(member) != access},
    }


def differences(older: Jars, newest: Jars) -> dict[str, Any]:
    """Return the record of each class of the newest Spark that an older one declares otherwise or lacks.

    Of the classes that only the older Spark has, it contains those that others extend or implement.
    """
    record: dict[str, Any] = {}
    waiting = sorted(name for name in newest.names() if name.startswith(_USABLE) and "$anon" not in name)
    while waiting:
        name = waiting.pop()
        before, now = older.get(name), newest.get(name)
        if name not in record and before != now:
            record[name] = difference(before, now)
            waiting += [parent for parent in _parents(before) if newest.get(parent) is None and older.get(parent)]
    return record


def _parents(declared: Declared | None) -> list[str]:
    if declared is None:
        return []
    return [*([declared.superclass] if declared.superclass else []), *declared.interfaces]


def own_classes(jar: Path = JAR) -> list[Compiled]:
    """Return the classes of JetSQL's jar."""
    jars = Jars([jar])
    return [compiled(jars.bytes_of(name)) for name in jars.names()]


class Linkage:
    """JetSQL's classes among those of one Spark."""

    def __init__(self, own: Iterable[Compiled], spark: Classes) -> None:
        self._own = {each.name: each for each in own}
        self.spark = spark

    def problems(self) -> list[str]:
        """Return a line for each member or class that would fail to link, sorted."""
        found = {line for each in self._own.values() for line in self._problems_of(each)}
        return sorted(found)

    def hooks(self) -> set[str]:
        """Return JetSQL's methods that override a method of Spark: those that Spark calls."""
        return {
            f"{each.name}.{member}"
            for each in self._own.values()
            for member, access in each.declared.members.items()
            if not access & STATIC and _is_method(member)
            for owner in self._ancestors(each.name)
            if not owner.startswith((OURS, *_PLATFORM)) and member in self._declared(owner).members
        }

    def _problems_of(self, own: Compiled) -> Iterator[str]:
        for name in own.classes:
            if not self._exists(name):
                yield f"{own.name}: there is no class {name}"
        for reference in own.references:
            yield from (f"{own.name}: {problem}" for problem in self._reference_problems(reference))
        yield from (f"{own.name}: {problem}" for problem in self._inheritance_problems(own))

    def _reference_problems(self, reference: Reference) -> Iterator[str]:
        owner = self._find(reference.owner)
        if owner is None or reference.owner.startswith(OURS):
            return
        if reference.interface is not None and reference.interface != owner.is_interface:
            yield f"{reference.owner} is {'an interface' if owner.is_interface else 'a class'}"
        if not self._has_member(reference.owner, reference.member):
            yield f"{reference.owner} has no {reference.member}"

    def _inheritance_problems(self, own: Compiled) -> Iterator[str]:
        for interface in own.declared.interfaces:
            if (found := self._find(interface)) is not None and not found.is_interface:
                yield f"{interface} is a class"
        parent = own.declared.superclass
        if parent is not None and (found := self._find(parent)) is not None and (found.access & FINAL):
            yield f"{parent} is final"
        concrete: set[str] = set()
        required: dict[str, str] = {}
        for name in [own.name, *self._ancestors(own.name)]:
            for member, access in self._declared(name).members.items():
                if access & ABSTRACT:
                    required.setdefault(member, name)
                elif ":(" in member:
                    concrete.add(member)
                if access & FINAL and not access & STATIC and name != own.name and member in own.declared.members:
                    if _is_method(member):
                        yield f"{name}.{member} is final"
        if not own.declared.access & ABSTRACT:
            for member in required.keys() - concrete:
                yield f"{required[member]}.{member} is abstract, and not implemented"

    def _exists(self, name: str) -> bool:
        return name.startswith(_PLATFORM) or self._find(name) is not None

    def _find(self, name: str) -> Declared | None:
        return self._own[name].declared if name in self._own else self.spark.get(name)

    def _declared(self, name: str) -> Declared:
        found = self._find(name)
        return found if found is not None else Declared(0, None, (), {})

    def _ancestors(self, name: str) -> Iterator[str]:
        """Yield the names of all superclasses and interfaces of a class, the nearest first."""
        waiting, seen = _parents(self._find(name)), set()
        while waiting:
            ancestor = waiting.pop(0)
            if ancestor not in seen:
                seen.add(ancestor)
                yield ancestor
                waiting += _parents(self._find(ancestor))

    def _has_member(self, owner: str, member: str) -> bool:
        """Return whether a class has or inherits a member."""
        if member in self._declared(owner).members:
            return True
        if member.startswith("<init>"):
            return False
        name = member.partition(":")[0]
        for ancestor in [*self._ancestors(owner), "java/lang/Object"]:  # an interface, too, has the methods of Object
            if member in self._declared(ancestor).members or name in _OF_PLATFORM.get(ancestor, ()):
                return True
            if ancestor.startswith(_PLATFORM) and ancestor not in _OF_PLATFORM:
                return True
        return False


def _is_method(member: str) -> bool:
    return ":(" in member and not member.startswith("<")


def record_file(spark: str) -> Path:
    """Return the file with the record of a Spark, such as 4.1."""
    return RECORDS / f"spark-{spark}.json.gz"


def read_record(spark: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(gzip.decompress(record_file(spark).read_bytes()))
    return record


def write_record(spark: str, record: Mapping[str, Any]) -> None:
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    record_file(spark).write_bytes(gzip.compress(text.encode(), mtime=0))


def newest_classes() -> Jars:
    """Return the classes of the installed PySpark and of its connectors."""
    return Jars([*Path(spark_jars()).parent.glob("*.jar"), *connectors()])


def installed_classes(spark: str) -> Jars:
    """Return the classes of an older Spark that is installed, and of its connectors."""
    return Jars([*jars(spark), *connectors(spark)])


def check_installed(spark: str) -> list[str]:
    """Compare with the jars of an older Spark that is installed. Return the problems, also an outdated record."""
    newest, older = newest_classes(), installed_classes(spark)
    problems = Linkage(own_classes(), older).problems()
    if differences(older, newest) != read_record(spark)["classes"]:
        problems.append(f"The record of Spark {spark} is out of date; run python -m tools.java.linkage record.")
    return problems


def main() -> None:
    newest = newest_classes()
    for spark in OLDER:
        install(spark)
        if sys.argv[1:] == ["record"]:
            write_record(spark, {"spark": spark, "classes": differences(installed_classes(spark), newest)})
    problems = [f"Spark {spark}: {problem}" for spark in OLDER for problem in check_installed(spark)]
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
