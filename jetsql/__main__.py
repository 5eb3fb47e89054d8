"""The command line as a module: `python -m jetsql` runs the command `jetsql`."""

import sys

from jetsql.cli import main

if __name__ == "__main__":
    sys.exit(main())
