"""`python -m cvmgen` is the command `cvmgen`."""

import sys

from cvmgen.cli import main

sys.exit(main())
