"""Advice: which memory and which path for a copy, from a profile. Pure functions of it."""
