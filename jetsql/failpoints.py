"""Places where a death hurts, by name: `JETSQL_FAILPOINT=staged` kills the process there as `kill -9` would.

For tests of recovery. `staged@2` dies the second time it comes by. Not armed, a failpoint is one comparison.
"""

from __future__ import annotations

import os
import signal

_armed, _, _times = os.environ.get("JETSQL_FAILPOINT", "").partition("@")
_left = int(_times or "1")


def failpoint(name: str) -> None:
    """Die here, if this is the armed place and its time has come."""
    global _left
    if name != _armed:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
