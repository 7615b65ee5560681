"""Decides: the figures with which copies are planned, and advice from them."""
