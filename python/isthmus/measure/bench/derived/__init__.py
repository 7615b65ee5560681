"""Results that are derived from measured ones."""
