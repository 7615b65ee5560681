"""`python -m isthmus`."""

import sys

from isthmus.cli.startup import main

if __name__ == "__main__":
    sys.exit(main())
