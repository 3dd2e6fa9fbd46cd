"""`python -m runner`."""

import sys

from runner.cli import main
from runner.system.collector import end_with

exit_code = main()
end_with(exit_code)
sys.exit(exit_code)
