"""The measurements: from a test to calls of the native code."""
