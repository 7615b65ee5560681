"""Results that are worked out from measured ones."""
