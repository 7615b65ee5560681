"""Traces of programs: imported, stored, described."""
