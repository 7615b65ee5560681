"""Moves data between host and GPU: arrays, copies, windows, pinned and paged memory, files."""
