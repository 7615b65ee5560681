"""Stand-ins for the native module's objects, made by the tests and passed in."""
