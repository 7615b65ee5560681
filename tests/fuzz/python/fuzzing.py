"""
What the fuzzers in Python share: the command line, and what is asked of every input.

A fuzzer is a function `check(data)`, in which only our own errors pass and what was read is held to
what is promised of it. `python NAME_fuzzer.py --seconds N --corpus FOLDER` feeds it by Atheris,
which says "Done N runs in S second(s)"; the exit code is 0 if nothing was found. Inputs that show
something are kept below build/fuzz/runs, or in the current folder where that has one for new
inputs, `corpus`. The tests give `check` every file of the corpora, without Atheris.
"""

import argparse
import atexit
import gc
import sys
import tempfile
import time
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path

from isthmus.errors import UsageError

Check = Callable[[bytes], None]

_ROOT = Path(__file__).resolve().parents[3]
# Where the examples are that fuzzers change.
sys.path.append(str(_ROOT / "tests"))
# Of the processor's time. Wall time is the machine's, which others use too: it ends what hangs.
_MAX_SECONDS = 1.0
_HANGS_SECONDS = 20
_MAX_MIB = 4096
_MAX_MESSAGE_CHARACTERS = 4000
# What of Python's is told where it has been; pydantic's and json's parsers are native.
_INSTRUMENTED = ("isthmus.", "tomllib.")


class Finding(AssertionError):
    """What a fuzzer looks for."""


def require(holds: object, what: str) -> None:
    """Raise Finding unless something holds; python -O leaves it in, as it doesn't assert."""
    if not holds:
        raise Finding(what)


def require_readable(error: UsageError) -> None:
    """See that a refusal is one line of text that a message can bear."""
    for text in (str(error), error.hint):
        require(text.isprintable(), f"a message of more than a line: {text!r}")
        require(len(text) <= _MAX_MESSAGE_CHARACTERS, f"a message of {len(text)} characters")
    require(str(error), "a message without words")


def fuzz(check: Check, *, max_bytes: int = 4096) -> None:
    """
    Feed a function inputs, as the command line says. Does not return.

    Args:
        check: Raises for an input that shows something wrong.
        max_bytes: Of an input.
    """
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long")
    parser.add_argument("--inputs", type=int, help="stop after so many")
    parser.add_argument("--corpus", type=Path, required=True, help="what to begin with")
    options = parser.parse_args()
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is missing: pip install 'isthmus[fuzz]'")
    kept = _folder_of_new_inputs()
    _instrument(atheris)
    check(b"")  # what is imported on the way takes its time once
    arguments = [
        sys.argv[0],
        f"-max_total_time={options.seconds}",
        f"-timeout={_HANGS_SECONDS}",
        f"-rss_limit_mb={_MAX_MIB}",
        f"-max_len={max_bytes}",
        f"-artifact_prefix={kept.parent}/",
        "-print_final_stats=1",
        *([] if options.inputs is None else [f"-runs={options.inputs}"]),
        *(str(folder) for folder in (kept, options.corpus)),
    ]
    atheris.Setup(arguments, limited(check))
    atheris.Fuzz()


@cache
def temporary_folder() -> Path:
    """Give a folder, in memory where that can be, which goes when the process ends."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    made = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    atexit.register(made.cleanup)
    return Path(made.name)


def limited(check: Check) -> Check:
    """Make a function a finding of an input that takes it more than a second."""

    def one(data: bytes) -> None:
        begin = time.process_time()
        check(data)
        took = time.process_time() - begin
        require(took <= _MAX_SECONDS, f"{took:.1f} s for {len(data)} bytes")

    return one


def _folder_of_new_inputs() -> Path:
    """Give `corpus` where whoever runs all fuzzers has made it, else one below the builds."""
    name = Path(sys.argv[0]).stem.removesuffix("_fuzzer")
    here = Path("corpus")
    folder = here if here.is_dir() else _ROOT / "build" / "fuzz" / "runs" / f"{name}-Python" / here
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _instrument(atheris: types.ModuleType) -> None:
    """Have Atheris told of every branch that the parsers take."""
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType) and f"{found.__module__}.".startswith(
            _INSTRUMENTED
        ):
            atheris.instrument_func(found)
