"""The examples for Slurm on a real Slurm: its nodes are daemons of this machine."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from program import NO_GPU, PROGRAM, run_process
from slurm_cluster import SlurmCluster, slurm_cluster, what_is_missing

MISSING = what_is_missing()
pytestmark = [
    pytest.mark.long,
    pytest.mark.native,
    pytest.mark.skipif(bool(MISSING), reason=MISSING or "Slurm is here"),
]
EXAMPLES = Path(__file__).parents[3] / "examples" / "fleet"
PROGRAMS = Path(sys.executable).parent
PATH = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
ONE = "-t host_to_device_memcpy_ce --sizes 1M,2M --budget 1"
UNFINISHED = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}
_BAD = {"half-link": "emulated:half-link", "no-gpu": "emulated:no-gpu"}


def script(path: Path, lines: str) -> Path:
    """Write a script that knows the device of the node on which it runs."""
    cases = " ".join(f"{node}) device={device};;" for node, device in _BAD.items())
    head = f"#!/bin/sh\ncase $SLURMD_NODENAME in {cases} *) device=emulated;; esac\n"
    path.write_text(head + lines, "utf-8")
    path.chmod(0o755)
    return path


def soon(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end


def field(cluster: SlurmCluster, job: str, name: str) -> str:
    """Give what Slurm says of a job under a name."""
    shown = cluster.run("scontrol", "--oneliner", "show", "job", job).out.split()
    return next(word for word in shown if word.startswith(f"{name}=")).partition("=")[2]


def all_idle(cluster: SlurmCluster) -> bool:
    return set(cluster.states().values()) == {"idle"}


def cluster_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "slurm"
    folder.mkdir()
    return folder


def test_the_prolog_drains_slow_nodes_and_those_without_a_gpu_and_says_why(
    tmp_path: Path,
) -> None:
    baseline = tmp_path / "baseline.json"
    measured = [*PROGRAM, "bench", *ONE.split(), "--device", "emulated", "--repeat", "3"]
    assert run_process([*measured, "-o", str(baseline)], NO_GPU).code == 0
    # A narrow link alone makes no other machine: the baseline is called one of the same profile.
    prolog = script(
        tmp_path / "prolog.sh",
        f'export ISTHMUS_BENCH="{ONE}" ISTHMUS_DEVICES="$device"\n'
        f"export ISTHMUS={PROGRAMS / 'isthmus'} ISTHMUS_BASELINES={tmp_path}\n"
        "profile=${device#emulated}; profile=${profile#:}\n"
        'named="\\"profile\\": \\"${profile:-small}\\""\n'
        f'sed "s/\\"profile\\": \\"[^\\"]*\\"/$named/" {baseline} > '
        f'"{tmp_path}/gpu$device.json"\n'
        f"exec {shlex.quote(str(EXAMPLES / 'slurm_prolog.sh'))}\n",
    )
    nodes = ("n1", "n2", *_BAD)
    more = f"Prolog={prolog}\nPrologFlags=Alloc"
    with slurm_cluster(cluster_folder(tmp_path), nodes, more) as cluster:
        soon(lambda: all_idle(cluster))
        refused = cluster.run("srun", "--nodes=4", "true")
        soon(lambda: "drained" in cluster.states()["no-gpu"])
        soon(lambda: "drained" in cluster.states()["half-link"])
        soon(lambda: (cluster.states()["n1"], cluster.states()["n2"]) == ("idle", "idle"))
        reasons = cluster.run("sinfo", "--list-reasons", "--noheader", "--format", "%N: %E").out
        done = cluster.run("srun", "--nodes=2", "sh", "-c", "echo $SLURMD_NODENAME")
    assert refused.code != 0
    half, none = sorted(reasons.splitlines())
    assert half.startswith("half-link: isthmus: ")
    assert "1 slower" in half
    said = "no device 'emulated:no-gpu': the driver has no device"
    assert none == f"no-gpu: isthmus: GPU emulated:no-gpu: {said}"
    assert sorted(done.out.split()) == ["n1", "n2"], done.err


def test_a_job_measures_every_node_and_its_check_names_the_bad_ones(tmp_path: Path) -> None:
    # Slurm takes variables of a task from what this prints.
    task = script(tmp_path / "task.sh", 'echo "export ISTHMUS_DEVICES=$device"\n')
    nodes = ("n1", "n2", "n3", "n4", *_BAD)
    folder, out = tmp_path / "fleet", tmp_path / "out.txt"
    job = [f"--output={out}", "--nodes=6", str(EXAMPLES / "slurm.sh"), str(folder)]
    environment = {**NO_GPU, **PATH, "ISTHMUS_BENCH": ONE}
    with slurm_cluster(cluster_folder(tmp_path), nodes, f"TaskProlog={task}") as cluster:
        soon(lambda: all_idle(cluster))
        done = cluster.run("sbatch", "--parsable", *job, environment=environment)
        assert done.code == 0, done.err
        job_id = done.out.strip()
        soon(lambda: field(cluster, job_id, "JobState") not in UNFINISHED)
        ended = field(cluster, job_id, "ExitCode")
    said = out.read_text("utf-8")
    assert ended == "3:0", said
    assert "2 of 6 are bad (5 GPUs and 1 dead node): 1 dead and 1 slow; 4 ok" in said
    assert "dead      no-gpu: no run came from it\n" in said
    assert "no-gpu: error: no device 'emulated:no-gpu': the driver has no device\n" in said
    assert "slow      half-link GPU 0: " in said
    assert "emulated profile half-link; most of its class: small" in said


def started(cluster: SlurmCluster, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    example = [sys.executable, str(EXAMPLES / "dask_slurm.py"), "--interface", "lo", "--nodes", "2"]
    return subprocess.Popen(
        cluster.inside(example),
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        cwd=cluster.folder,
    )


def test_workers_of_dask_are_jobs_that_join_are_measured_and_end_with_the_cluster(
    tmp_path: Path,
) -> None:
    for name in ("distributed", "dask_jobqueue"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    script = Path(__file__).parents[3] / "examples" / "fleet" / "certificates.sh"
    made = run_process(["sh", str(script), str(tmp_path / "tls")])
    (tmp_path / "dask.yaml").write_text(made.out, "utf-8")
    environment = {**NO_GPU, **PATH, "DASK_CONFIG": str(tmp_path / "dask.yaml")}
    short = ("-d", "emulated", *ONE.split(), "--repeat", "1", "-o", str(tmp_path / "runs"))
    with slurm_cluster(cluster_folder(tmp_path), ("n1", "n2")) as cluster:
        soon(lambda: all_idle(cluster))
        with started(cluster, environment) as process:
            assert process.stdout is not None
            address = process.stdout.readline().removeprefix("scheduler: ").strip()
            assert "2 of 2 nodes are there\n" in process.stdout
            states = cluster.states()
            bench = (*PROGRAM, "fleet", "bench", "--scheduler", address, *short)
            measured = cluster.run(*bench, environment=environment)
            jobs = cluster.run("squeue", "--noheader", "--format", "%i").out.split()
            cluster.run("scancel", jobs[0])
            # Where a job has ended, its node is no more.
            assert "1 of 2 nodes are there\n" in process.stdout
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=60)
        soon(lambda: cluster.run("squeue", "--noheader").out == "")
    assert states == {"n1": "allocated", "n2": "allocated"}
    assert measured.code == 0, measured.err
    assert "2 runs in " in measured.err
    assert (process.returncode, rest) == (0, "ended\n")
