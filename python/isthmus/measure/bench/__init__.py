"""Plans and runs the measurements. Knows no format and prints nothing."""
