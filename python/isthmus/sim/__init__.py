"""Simulates page migration on machines that you don't have. All its numbers are modelled."""
