"""`isthmus compare`, and how verdicts are said."""
