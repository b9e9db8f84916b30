"""Run the command line: ``python -m fairbook.cli``."""

import sys

from fairbook.cli import main

if __name__ == "__main__":
    sys.exit(main())
