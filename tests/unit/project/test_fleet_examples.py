"""The example files for schedulers, run beside programs that play the scheduler's part."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from documents.test_shell_snippets import require_command
from program import NO_GPU, Outcome, run_process

EXAMPLES = Path(__file__).parents[3] / "examples" / "fleet"
ONE = "-t host_to_device_memcpy_ce --sizes 4"
_SCONTROL = "#!/bin/sh\nprintf 'n1\\nn2\\nn3\\n'\n"
# Two nodes run; the third never answers.
_SRUN = """#!/bin/sh
shift
for node in n1 n2; do SLURMD_NODENAME=$node "$@" || code=$?; done
exit ${code:-0}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> dict[str, str]:
    """Give an environment with the program, `srun` and `scontrol`."""
    for name, text in {"srun": _SRUN, "scontrol": _SCONTROL}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return NO_GPU | {"PATH": path, "SLURM_JOB_NODELIST": "n[1-3]", "ISTHMUS_BENCH": ONE}


def run(name: str, *arguments: str, **environment: str) -> Outcome:
    return run_process(["/bin/sh", str(EXAMPLES / name), *arguments], environment)


@pytest.mark.long
@pytest.mark.native
def test_a_job_of_slurm_measures_every_node_and_names_the_one_that_is_silent(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "fleet"
    done = run("slurm.sh", str(folder), **cluster, ISTHMUS_DEVICES="emulated")
    assert done.code == 3, done.err
    assert "dead      n3: no run and no word came from it\n" in done.out
    assert "(3 nodes, 6 runs)" in done.out
    assert sorted(path.name for path in (folder / "n1").iterdir()) == [
        "doctor.json",
        "gpuemulated-1.json",
        "gpuemulated-2.json",
        "gpuemulated-3.json",
        "said.txt",
    ]


@pytest.mark.long
@pytest.mark.native
def test_the_prolog_passes_a_node_that_is_as_fast_as_its_baseline(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    baseline = tmp_path / "gpuemulated.json"
    program = [sys.executable, "-m", "isthmus", "bench", "bandwidth", *ONE.split()]
    made = run_process([*program, "--device", "emulated", "-o", str(baseline)], NO_GPU)
    assert made.code == 0
    environment = cluster | {
        "ISTHMUS": str(Path(sys.executable).with_name("isthmus")),
        "ISTHMUS_DEVICES": "emulated",
        "ISTHMUS_BASELINES": str(tmp_path),
    }
    assert run("slurm_prolog.sh", **environment).code == 0
    gone = environment | {"ISTHMUS_BASELINES": str(tmp_path / "nothing")}
    assert run("slurm_prolog.sh", **gone).code != 0


def program(folder: Path, name: str, text: str) -> str:
    """Write a program that plays a part, and give its path."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_the_prolog_looks_at_all_gpus_of_a_job_and_names_the_one_that_is_slow(
    tmp_path: Path,
) -> None:
    said = tmp_path / "said.txt"
    text = (
        f'echo "$* $CUDA_VISIBLE_DEVICES" >> {said}\n'
        'case "$*" in *"--device 2 "*) echo "9 families: 1 slower"; exit 3;; esac'
    )
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "ISTHMUS": program(tmp_path, "isthmus", text),
        "SLURM_JOB_GPUS": "0,2,3",
        "CUDA_VISIBLE_DEVICES": "0",
        "SLURMD_NODENAME": "n1",
    }
    program(tmp_path, "scontrol", f'echo "$*" >> {said}')
    done = run("slurm_prolog.sh", **environment)
    assert (done.code, done.out) == (3, "GPU 2: 9 families: 1 slower\n")
    first, second, drained = said.read_text().splitlines()
    assert "--device 0 --no-save --compare /var/lib/isthmus/gpu0.json" in first
    assert first.endswith("10% ")
    assert "--device 2 " in second
    assert drained == "update NodeName=n1 State=DRAIN Reason=isthmus: GPU 2: 9 families: 1 slower"


def scripts() -> tuple[str, str]:
    """Give the scripts that measure a node and mark it."""
    daemons = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text("utf-8"))
    [daemon] = [one for one in daemons if one["kind"] == "DaemonSet"]
    measure, mark = daemon["spec"]["template"]["spec"]["initContainers"]
    return measure["command"][-1], mark["command"][-1]


_HEALTHY = [
    "label node n1 --overwrite isthmus/link=healthy",
    "taint node n1 isthmus/slow-link-",
    "taint node n1 isthmus/unchecked-",
]
_SLOW = [
    "taint node n1 --overwrite isthmus/slow-link=true:NoSchedule",
    "label node n1 --overwrite isthmus/link=slow",
    "taint node n1 isthmus/unchecked-",
]


@pytest.mark.parametrize(
    ("codes", "calls", "code"),
    [
        ("0 0", _HEALTHY, 0),
        ("0 3", _SLOW, 0),
        ("4 3", _SLOW, 0),
        ("3 4", _SLOW, 0),
        ("0 4", [], 1),
    ],
)
def test_kubernetes_marks_a_node_by_the_worst_of_all_its_gpus(
    tmp_path: Path, codes: str, calls: list[str], code: int
) -> None:
    program(tmp_path, "nvidia-smi", "echo 0; echo 1")
    program(tmp_path, "isthmus", f'set -- $(echo "{codes}" | cut -d" " -f$((${{8}} + 1))); exit $1')
    said = tmp_path / "said.txt"
    program(tmp_path, "kubectl", f'echo "$*" >> {said}')
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NODE": "n1"}
    measure, mark = (text.replace("/found", str(tmp_path)) for text in scripts())
    said.touch()
    assert run_process(["/bin/sh", "-c", measure], environment).code == code
    if code == 0:
        assert run_process(["/bin/sh", "-ec", mark], environment).code == 0
    assert said.read_text().splitlines() == calls


def test_the_init_container_runs_a_command_that_exists() -> None:
    (command,) = re.findall(r"isthmus bench .*(?= \|\|)", scripts()[0])
    require_command(shlex.split(command))
