"""python -m coequal."""

import sys

from coequal.cli import main

sys.exit(main())
