"""The data of one run: its model, its JSON schema, and where runs are kept."""
