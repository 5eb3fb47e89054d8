"""The checksum CRC-32C (RFC 3720, B.4), with which Spark protects the files of state.

Python's library has only CRC-32. This one is slow (about 10 MB in a second) and reads only files without the checksums
of Hadoop.
"""

from __future__ import annotations

from typing import Final

_POLYNOMIAL: Final = 0x82F63B78


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE: Final = tuple(map(_entry, range(256)))


def crc32c(content: bytes) -> int:
    """Return the checksum of a content, an unsigned number."""
    value = 0xFFFFFFFF
    for byte in content:
        value = _TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF
