"""``python -m portacl``: the same as the program ``portacl``."""

import sys

from ._cli import main

sys.exit(main())
