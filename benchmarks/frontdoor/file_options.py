"""The options of benchmarks that write a file of tensors."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path


def file_options(arguments: Sequence[str], *, max_seconds: float) -> argparse.Namespace:
    """Read the command line; no round begins after so many seconds, unless it says otherwise."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--gib", type=float, default=1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-seconds", type=float, default=max_seconds)
    return parser.parse_args(arguments)
