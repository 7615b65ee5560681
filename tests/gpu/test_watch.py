"""`isthmus watch` counts as many copies as CUPTI, in programs that know nothing of either."""

import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from isthmus import _native
from isthmus.watching.counters import counter_files, read_counters
from isthmus.watching.environment import watched_environment
from program import run_process

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "benchmarks" / "watch" / "programs"
_MODULES = {
    "checkpoint_cpu": "torch",
    "cupy_arrays": "cupy",
    "data_loader": "torch",
    "generate": "transformers",
    "jax_arrays": "jax",
    "numba_arrays": "numba",
    "safetensors_load": "safetensors",
    "torch_save": "torch",
}


def _first(names: list[Path], file: str) -> Path:
    found = next((one / file for one in names if (one / file).exists()), None)
    if found is None:
        pytest.skip(f"no {file} here")
    return found


@pytest.fixture(scope="module")
def injected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build what counts by CUPTI, with the toolkit's or the wheel's."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    wheels = [one for folder in sys.path for one in Path(folder).glob("nvidia/*")]
    homes = [toolkit, toolkit / "extras" / "CUPTI", *wheels]
    headers = _first([one / "include" for one in homes], "cupti.h")
    cuda = _first([one / "include" for one in homes], "cuda.h")
    library = _first([one / part for one in homes for part in ("lib64", "lib")], "libcupti.so.13")
    made = tmp_path_factory.mktemp("cupti") / "libcounts.so"
    source = Path(__file__).with_name("cupti_counts.cpp")
    options = ["-std=c++17", "-shared", "-fPIC", f"-I{headers.parent}", f"-I{cuda.parent}"]
    rest = [str(library), f"-Wl,-rpath,{library.parent}", "-o", str(made)]
    done = run_process(["c++", *options, str(source), *rest])
    assert done.code == 0, done.err
    return made


def _counts(
    command: list[str], folder: Path, injected: Path
) -> tuple[Counter[str], Counter[str], str]:
    environment = watched_environment(
        {"CUDA_INJECTION64_PATH": str(injected), "ISTHMUS_CUPTI_COUNTS": str(folder)}, folder
    )
    done = run_process(command, environment, max_seconds=300)
    assert done.code == 0, done.err[-2000:]
    ours: Counter[str] = Counter()
    for process in map(read_counters, counter_files(folder)):
        for row in process.calls:
            if row.kind == "copy":
                ours[row.entry] += row.calls
    theirs: Counter[str] = Counter()
    for file in folder.glob("*.cupti"):
        for line in file.read_text("utf-8").splitlines():
            name, calls = line.split()
            theirs[name] += int(calls)
    return ours, theirs, done.out


@pytest.mark.parametrize("program", sorted(_MODULES))
def test_every_copy_that_cupti_sees_is_counted(
    program: str, driver: _native.Driver, injected: Path, tmp_path: Path
) -> None:
    del driver
    pytest.importorskip(_MODULES[program], exc_type=ImportError)
    counters = tmp_path / "counters"
    counters.mkdir(mode=0o700)
    command = [sys.executable, str(PROGRAMS / f"{program}.py"), str(tmp_path)]
    ours, theirs, out = _counts(command, counters, injected)
    assert json.loads(out.splitlines()[-1])["outcome"]
    assert theirs.total() > 0
    assert ours == theirs


@pytest.mark.parametrize("runtime", ["static", "shared"])
@pytest.mark.parametrize("stream", ["legacy", "per-thread"])
def test_copies_of_each_runtime_and_default_stream_are_counted(
    runtime: str, stream: str, driver: _native.Driver, injected: Path, tmp_path: Path
) -> None:
    del driver
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(nvcc).exists():
        pytest.skip("no nvcc here")
    made = tmp_path / "runtime_copies"
    options = ["-O2", "-std=c++17", "-arch=native", "-cudart", runtime, "--default-stream", stream]
    source = str(PROGRAMS / "runtime_copies.cu")
    built = run_process([nvcc, *options, source, "-o", str(made)], max_seconds=120)
    assert built.code == 0, built.err
    counters = tmp_path / "counters"
    counters.mkdir(mode=0o700)
    ours, theirs, _ = _counts([str(made)], counters, injected)
    assert theirs.total() == 8
    assert ours == theirs
