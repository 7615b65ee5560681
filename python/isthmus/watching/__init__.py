"""What a watched process counted: reads it, says what was avoidable, and prepares programs for it."""
