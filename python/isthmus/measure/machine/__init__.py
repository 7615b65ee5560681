"""Reads what the measurements depend on: host, link, clocks, versions. Never fails a run."""
