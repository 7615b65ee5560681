"""The example of a cluster of Dask on Slurm, beside programs that play Slurm's part."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from program import NO_GPU, PROGRAM, run_process

pytest.importorskip("distributed", reason="isthmus[scale] is not installed")
pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")

pytestmark = pytest.mark.long

EXAMPLE = Path(__file__).parents[3] / "examples" / "fleet" / "dask_slurm.py"
# A job is a process here, in a group of its own, with the number of that group.
_SBATCH = """#!/bin/sh
if [ "$1" = --test-only ]; then cat > tested.sh; exit; fi
cp "$1" job-$$.sh
setsid bash job-$$.sh > job-$$.log 2>&1 < /dev/null &
echo $! >> submitted
echo "Submitted batch job $!"
"""
_SCANCEL = """#!/bin/sh
echo "$1" >> cancelled
kill -s TERM -- "-$1"
"""
_REFUSING = "#!/bin/sh\necho 'sbatch: error: invalid partition specified: gpu' >&2\nexit 1\n"


@pytest.fixture
def slurm(tmp_path: Path) -> dict[str, str]:
    """Give an environment with `sbatch`, `scancel` and certificates of a cluster."""
    for name, text in {"sbatch": _SBATCH, "scancel": _SCANCEL}.items():
        program(tmp_path / name, text)
    made = run_process(["sh", str(EXAMPLE.parent / "certificates.sh"), str(tmp_path / "tls")])
    assert made.code == 0, made.err
    configuration = tmp_path / "dask.yaml"
    configuration.write_text(made.out)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return NO_GPU | {"PATH": path, "DASK_CONFIG": str(configuration)}


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def command(*options: str) -> list[str]:
    return [sys.executable, str(EXAMPLE), "--interface", "lo", *options]


@contextmanager
def started(slurm: dict[str, str], folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Start the example, and leave nothing of it behind, whatever happens."""
    one = subprocess.Popen(
        command(*options),
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | slurm,
        cwd=folder,
    )
    try:
        yield one
    finally:
        one.kill()
        one.communicate()
        for group in lines(folder / "submitted"):
            with suppress(ProcessLookupError):
                os.killpg(int(group), signal.SIGKILL)


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []


@pytest.mark.long
@pytest.mark.native
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_node_of_slurm_joins_by_tls_and_is_measured_and_its_job_ends_with_the_cluster(
    slurm: dict[str, str], tmp_path: Path, ending: signal.Signals
) -> None:
    with started(slurm, tmp_path) as cluster:
        assert cluster.stdout is not None
        said = []
        for line in cluster.stdout:
            said.append(line)
            if line == "1 of 1 nodes are there\n":
                break
        address = said[0].removeprefix("scheduler: ").strip()
        assert address.startswith("tls://127.0.0.1:")
        words = said[1].removeprefix("use it:").split()
        assert words == ["isthmus", "fleet", "bench", "--scheduler", address]
        more = ("-d", "emulated", "-t", "host_to_device_memcpy_ce", "--sizes", "4", "--repeat", "1")
        measured = run_process([*PROGRAM, *words[1:], *more, "-o", str(tmp_path / "runs")], slurm)
        cluster.send_signal(ending)
        rest, _ = cluster.communicate(timeout=60)
    assert measured.code == 0, measured.err
    assert "1 run in " in measured.err
    (run,) = (path for path in (tmp_path / "runs").rglob("*.json") if "doctor" not in path.name)
    assert '"host_to_device_memcpy_ce"' in run.read_text("utf-8")
    assert (cluster.returncode, rest.splitlines()[-1]) == (0, "ended")
    assert lines(tmp_path / "cancelled") == lines(tmp_path / "submitted")


@pytest.mark.long
@pytest.mark.native
def test_each_job_asks_for_a_whole_node_and_starts_one_worker_without_a_dashboard(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    options = ("--nodes", "2", "--partition", "gpu", "--sbatch=--gres=gpu:8")
    with started(slurm, tmp_path, *options) as cluster:
        assert cluster.stdout is not None
        assert "2 of 2 nodes are there\n" in cluster.stdout
    script, other = (lines(path) for path in tmp_path.glob("job-*.sh"))
    assert script != other
    asked = [line.removeprefix("#SBATCH ") for line in script if line.startswith("#SBATCH")]
    wanted = ["-n 1", "-p gpu", "--mem=0", "--nodes=1", "--exclusive", "--gres=gpu:8"]
    assert set(wanted) <= set(asked)
    assert not any("cpus-per-task" in line for line in asked)
    (worker,) = (line for line in script if "dask_worker" in line)
    assert " tls://127.0.0.1:" in worker
    assert "--nworkers" not in worker
    assert " --nthreads 1 " in worker
    assert " --no-dashboard --dashboard-address 127.0.0.1:0 " in worker
    # What was tested is what was submitted, but for the worker's name.
    scripts = [lines(tmp_path / "tested.sh"), script, other]
    tested, *submitted = ([one for one in text if "dask_worker" not in one] for text in scripts)
    assert submitted == [tested, tested]


def test_what_slurm_refuses_is_said_in_its_words(slurm: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "sbatch", _REFUSING)
    done = run_process(command("--partition", "gpu"), slurm, cwd=tmp_path)
    assert done.code == 1
    assert done.err == (
        "Slurm refuses such a job: sbatch: error: invalid partition specified: gpu\n"
    )


def test_where_there_is_no_slurm_nothing_is_started(slurm: dict[str, str], tmp_path: Path) -> None:
    done = run_process(command(), slurm | {"PATH": "/nowhere"}, cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("there is no sbatch here: ")


@pytest.mark.parametrize(
    "lost",
    [
        "require-encryption: true",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("ca-file", "scheduler", "client")
        ),
    ],
)
def test_without_a_certificate_or_where_traffic_may_be_plain_nothing_listens(
    slurm: dict[str, str], tmp_path: Path, lost: str
) -> None:
    configuration = tmp_path / "dask.yaml"
    before = configuration.read_text("utf-8")
    assert f" {lost}" in before
    configuration.write_text(before.replace(f" {lost}", f" not-{lost}"))
    done = run_process(command(), slurm, cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "`sh examples/fleet/certificates.sh FOLDER` makes" in done.err
    assert not (tmp_path / "submitted").exists()


def test_without_dask_jobqueue_the_error_says_how_it_is_installed(tmp_path: Path) -> None:
    (tmp_path / "dask_jobqueue.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'dask_jobqueue'\", name='dask_jobqueue')"
    )
    done = run_process(command(), {"PYTHONPATH": str(tmp_path)})
    assert (done.code, done.err) == (
        1,
        "dask_jobqueue is not installed: pip install dask-jobqueue\n",
    )
