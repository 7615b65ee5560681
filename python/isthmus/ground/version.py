"""The version. The build reads it here, and it stands nowhere else."""

__version__ = "0.1.0"
