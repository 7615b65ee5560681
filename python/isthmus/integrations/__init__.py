"""Adapters for inference engines, one file each: docs/integrations.md says how they are used."""
