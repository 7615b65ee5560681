"""Measures this machine, keeps what was measured, and judges it."""
