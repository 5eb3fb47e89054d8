"""`python -m jetsql` is `jetsql`."""

import sys

from jetsql.cli import main

if __name__ == "__main__":
    sys.exit(main())
