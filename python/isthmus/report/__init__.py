"""Shows a run: pure functions from the run to text, to what rich can print, to JSON, to CSV."""
