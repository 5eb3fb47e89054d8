"""Namespaces of Linux in which a build mounts file systems: they end with it, also when it is killed."""

from __future__ import annotations

from typing import Final

END_WITH_PARENT: Final = ("setpriv", "--pdeathsig", "KILL")
"""The command prefix that makes Linux kill the process when this one dies."""
PRIVATE_MOUNTS: Final = (*END_WITH_PARENT, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""The command prefix that removes the mounts of the process, and ends all of its processes, when it ends."""
