"""`python -m tutor` is `autograd-tutor`."""

import sys

from tutor.cli import main

if __name__ == "__main__":
    sys.exit(main())
