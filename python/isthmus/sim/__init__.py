"""Simulates page migration on machines one does not have. Every number of it is modelled."""
