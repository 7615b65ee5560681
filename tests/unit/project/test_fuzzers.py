"""Every file of the fuzzers' corpora is read, among them one for each defect found."""

import ctypes
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from edits import VALUES, Choices, edited
from fuzzing import Finding, limited, require_readable
from isthmus.errors import UsageError

FUZZ = Path(__file__).parents[2] / "fuzz"
M_PERTURB = -6  # malloc.h: allocated memory is filled
FUZZERS = sorted(path.stem for path in (FUZZ / "python").glob("*_fuzzer.py"))
CORPORA = [
    pytest.param(fuzzer, path, id=f"{path.parent.name}-{path.name}")
    for fuzzer in FUZZERS
    for path in sorted((FUZZ / "corpora" / fuzzer.removesuffix("_fuzzer")).iterdir())
]


def test_each_parser_has_a_fuzzer_and_each_fuzzer_a_corpus() -> None:
    assert {name.removesuffix("_fuzzer") for name in FUZZERS} >= {
        *("fleets", "journals", "kernelslist", "machines", "profile", "pt", "runs"),
        "counters",
        *("safetensors", "settings", "shown", "sizes", "sweeps", "tracez"),
    }
    assert {parameters.values[0] for parameters in CORPORA} == set(FUZZERS)


@pytest.mark.native
@pytest.mark.parametrize(("fuzzer", "path"), CORPORA)
def test_an_input_of_a_corpus_is_refused_in_a_line_or_read_as_promised(
    monkeypatch: pytest.MonkeyPatch, fuzzer: str, path: Path
) -> None:
    if fuzzer == "pt_fuzzer":
        pytest.importorskip("torch", reason="PyTorch isn't installed")
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")
    monkeypatch.setenv("ISTHMUS_PROFILE", "off")
    importlib.import_module(fuzzer).check(path.read_bytes())


@pytest.mark.native
def test_bytes_that_pytorch_never_writes_are_known_even_if_they_are_twice_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch", reason="PyTorch isn't installed")
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")
    libc = ctypes.CDLL(None)
    libc.mallopt(M_PERTURB, 0x11)
    try:
        path = FUZZ / "corpora" / "pt" / "directory_by_attribute"
        importlib.import_module("pt_fuzzer").check(path.read_bytes())
    finally:
        libc.mallopt(M_PERTURB, 0)


def test_corpora_are_small() -> None:
    sizes = [parameters.values[1].stat().st_size for parameters in CORPORA]  # type: ignore[union-attr]
    assert max(sizes) < 16 << 10
    assert sum(sizes) < 200 << 10


@pytest.mark.long
@pytest.mark.parametrize("fuzzer", FUZZERS)
def test_a_fuzzer_explains_itself(fuzzer: str) -> None:
    command = [sys.executable, str(FUZZ / "python" / f"{fuzzer}.py"), "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--corpus" in shown.stdout


def test_an_unreadable_refusal_is_a_finding() -> None:
    require_readable(UsageError("no size", hint="did you mean 1?"))
    for error in (UsageError("a\nb"), UsageError("a", hint="\x1b[31m"), UsageError("x" * 9999)):
        with pytest.raises(Finding):
            require_readable(error)


def test_an_input_that_takes_more_than_a_second_is_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([1.0, 1.5, 2.0, 3.25])
    monkeypatch.setattr("time.process_time", lambda: next(times))
    check = limited(lambda _: None)
    check(b"")
    with pytest.raises(Finding, match=r"1\.2 s for 0 bytes"):
        check(b"")


def test_bytes_choose_what_is_changed_in_a_document() -> None:
    text = '{"a": 1, "b": [1, 2, {"c": null}]}'
    assert edited(text, Choices(b"")) == {"a": 1, "b": [1, 2, {"c": None}]}
    # b; its second item; no further; set; to the fourth of the values
    assert edited(text, Choices(bytes([1, 0, 1, 0, 7, 3]))) == {
        "a": 1,
        "b": [1, VALUES[3], {"c": None}],
    }
    # a; no further; deleted
    assert edited(text, Choices(bytes([0, 3, 0]))) == {"b": [1, 2, {"c": None}]}
    # Whatever the bytes are, it ends.
    for first in range(256):
        edited(text, Choices(bytes([first]) * 64))
