"""The command line. The only part that prints."""

import time

STARTED_S = time.monotonic()
"""When the program began, by the monotonic clock."""

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 plus the signal's number, as in shells."""

MESSAGE = "interrupted: unfinished work was not kept"
"""The message that goes with it."""
