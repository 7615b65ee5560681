"""How tests name what they are given: the program, what it left behind, golden files."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

# Finds no GPU on any machine: with a driver there are no visible devices, elsewhere no driver.
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
PROGRAM = [sys.executable, "-c", "import sys; from isthmus.cli.app import main; sys.exit(main())"]


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


Invoke = Callable[..., Outcome]
Shell = Callable[..., Outcome]
Golden = Callable[[str, str], None]
