"""The command line. The only part that prints."""

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the signal's number, as shells have it."""

MESSAGE = "interrupted: unfinished work was not kept"
"""What is said then."""
