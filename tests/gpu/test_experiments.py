"""
`isthmus reproduce` beside a plain CUDA program, by turns on the same GPU.

Both measure what two published experiments measured. A turn of each takes a few seconds; the
programs alternate, so that a slow moment of a shared host falls on both. How they are compared:
`turns.Comparison`. With ISTHMUS_EXPERIMENTS=FOLDER, the figures of all turns are also written to
FOLDER, as plain-NAME.json.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import pytest

from isthmus import _native
from isthmus.ground.json_text import json_text
from program import PROGRAM, run_process
from turns import Turn, compared, document_of, our_turn, plain_turn, table_of

_SOURCE = Path(__file__).with_name("experiments.cu")
_FLAGS = ("-O2", "-std=c++20", "-arch=all-major")
_NUM_TURNS = 5
_SIZES_MIB = (160, 640)


@dataclass(frozen=True)
class Experiment:
    """The same experiment, as each program is asked for it."""

    name: str
    plain: Sequence[str]
    ours: Sequence[str]


_EXPERIMENTS = (
    Experiment("d2h-overhead", (), ()),
    Experiment(
        "pinned-vs-pageable",
        [str(mib) for mib in _SIZES_MIB],
        ["--sizes", ",".join(f"{mib}MiB" for mib in _SIZES_MIB), "--quick"],
    ),
)


def find_nvcc() -> str | None:
    """Find it on PATH, or in the toolkit's usual folders."""
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    folders = [os.environ.get("PATH", ""), *(f"{home}/bin" for home in homes if home)]
    return shutil.which("nvcc", path=os.pathsep.join(folders))


@pytest.fixture(scope="module")
def plain_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build experiments.cu for all GPUs: a driver may be too old to compile for its own."""
    nvcc = find_nvcc()
    if nvcc is None:
        pytest.skip("no nvcc: put it on PATH, or set CUDA_HOME to the toolkit's folder")
    program = str(tmp_path_factory.mktemp("plain") / "experiments")
    # The toolkit's wheels keep their libraries where nvcc doesn't look.
    libraries = Path(nvcc).resolve().parents[1] / "lib"
    done = run_process(
        [nvcc, *_FLAGS, f"-L{libraries}", str(_SOURCE), "-o", program], max_seconds=120
    )
    assert done.code == 0, done.err
    return program


def output_of(command: Sequence[str]) -> str:
    done = run_process(command, max_seconds=60)
    assert done.code == 0, done.err
    return done.out


@pytest.mark.long
@pytest.mark.parametrize("arguments", [(), ("gdrcopy",), ("pinned-vs-pageable", "large")])
def test_the_plain_program_refuses_what_it_does_not_know(
    plain_program: str, arguments: Sequence[str]
) -> None:
    done = run_process([plain_program, *arguments])
    assert (done.code, done.out) == (1, "")
    assert done.err


@pytest.mark.gpu
@pytest.mark.parametrize("experiment", _EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_ours_agree_with_a_plain_program_within_5_percent_by_turns(
    driver: _native.Driver, plain_program: str, experiment: Experiment
) -> None:
    assert not driver.emulated
    ask_plain = [plain_program, experiment.name, *experiment.plain]
    ask_us = [*PROGRAM, "reproduce", experiment.name, *experiment.ours]
    ask_us += ["--device", "0", "--format", "json"]
    # Ours are means where the source has means: reproduce/published.
    average = mean if experiment.name == "d2h-overhead" else median
    plain: list[Turn] = []
    ours: list[Turn] = []
    for _ in range(_NUM_TURNS):
        plain.append(plain_turn(output_of(ask_plain), average))
        ours.append(our_turn(output_of(ask_us)))
    found = compared(plain, ours)
    if folder := os.environ.get("ISTHMUS_EXPERIMENTS"):
        path = Path(folder) / f"plain-{experiment.name}.json"
        path.write_text(json_text(document_of(found)), encoding="utf-8")
    assert all(one.agrees for one in found), "\n" + table_of(found)
