"""Trust in certificates that are known themselves, as that of an engine on this machine is from its home."""

from __future__ import annotations

import ssl
from typing import Final

_NO_CHECK_TIME: Final = 0x200000  # OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which `ssl` does not name


def trusting(certificates: str, *, also_expired: bool = False) -> ssl.SSLContext:
    """Return the context of a client that trusts these certificates and no others, whatever their names are.

    certificates: one or several in PEM. also_expired: whether their validity may have ended. Raises ssl.SSLError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # the certificate itself is known, so its names do not matter
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if also_expired:
        context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
    context.load_verify_locations(cadata=certificates)
    return context
