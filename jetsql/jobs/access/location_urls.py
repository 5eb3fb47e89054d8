"""The URLs of locations in rights, in the one form in which they are stored and compared.

`Location.java` has the same rules for the locations of tables.
"""

from __future__ import annotations

import re
from typing import Final

SCHEMES: Final = ("file", "s3a", "hdfs", "abfs", "abfss", "gs")
_URL: Final = re.compile(r"(?P<scheme>[A-Za-z0-9+.-]+):(//(?P<authority>[^/]*))?(?P<path>/.*)?", re.DOTALL)
_SPECIAL: Final = re.compile(r"[*?\[\]{}\\%#\x00-\x1f\x7f]")
"""The characters that Spark, Hadoop or a store may read in another way: globs and escapes."""


def location_url(text: str) -> str:
    """Return the form of a URL that is stored: `s3a://bucket/in`, `file:///data/in`, without a slash at the end.

    Raises ValueError with the reason if it is not certain which folder the text means.
    """
    if special := _SPECIAL.search(text):
        raise ValueError(f"a file system may read the character {special[0]!r} in another way")
    url = _URL.fullmatch(text)
    if url is None:
        raise ValueError("it has no scheme")
    scheme, authority = url["scheme"].lower(), (url["authority"] or "").lower()
    names = (url["path"] or "/")[1:].split("/")
    if scheme not in SCHEMES:
        raise ValueError(f"its scheme is not one of {', '.join(SCHEMES)}")
    if scheme == "file" and (authority or url["path"] is None):
        raise ValueError("a file has no host, and an absolute path")
    if scheme != "file" and not authority:
        raise ValueError("it names no host or bucket")
    if "@" in authority and not scheme.startswith("abfs"):
        raise ValueError("it names a user")
    if names[-1] == "":
        del names[-1]
    if not all(names) or {".", ".."} & set(names):
        raise ValueError("it has an empty name, '.' or '..'")
    root = f"{scheme}://{authority}"
    return f"{root}/{'/'.join(names)}" if names or scheme == "file" else root
