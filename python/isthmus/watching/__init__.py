"""What a watched process counted: reads it, judges it, and prepares programs to be watched."""
