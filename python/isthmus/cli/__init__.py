"""The command line. The only part that prints."""
