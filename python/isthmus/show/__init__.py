"""Shows a run: pure functions from the run to text, to rich objects, to JSON, to CSV."""
