"""A clock that jumps, for one engine with all its processes. Monotonic clocks stay as they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.paths import ROOT

_SOURCE = ROOT / "tests" / "support" / "programs" / "shifted_clock.c"


class ShiftedClock:
    """A library for LD_PRELOAD that shifts the time of a process. It is compiled, so it needs a C compiler (`cc`)."""

    def __init__(self, folder: Path) -> None:
        self._shift = folder / "clock-shift"
        self._library = folder / "shifted_clock.so"
        self.jump_to(0)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self._library, _SOURCE, "-ldl"], check=True)

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of a process with this clock."""
        return {"LD_PRELOAD": str(self._library), "SHIFTED_CLOCK": str(self._shift)}

    def jump_to(self, seconds: int) -> None:
        """Shift the clock of all processes to so many seconds after the real time, from now on."""
        with self._shift.open("r+b" if self._shift.exists() else "wb") as file:  # the same file: it is mapped
            file.write(seconds.to_bytes(8, "little", signed=True))
