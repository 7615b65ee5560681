"""A machine's profile: what each copy path costs here. Measured, stored, read again."""
