"""A whole run in each format: text, rich, CSV, and those of nvbandwidth and GDRCopy."""
