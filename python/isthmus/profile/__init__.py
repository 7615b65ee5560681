"""A machine's profile: what each way of copying costs here. Measured, stored, read again."""
