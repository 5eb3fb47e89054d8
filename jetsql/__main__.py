"""The command line as a module: `python -m jetsql` runs the command `jetsql`.

`-m` puts the current folder first on the path. It is removed before anything is imported, because a module there could
take the place of an installed one.
"""

import os
import sys

if sys.path[:1] == [os.getcwd()]:
    del sys.path[0]

from jetsql.cli import main

if __name__ == "__main__":
    sys.exit(main())
