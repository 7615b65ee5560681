"""The example files for schedulers, run beside programs that play the scheduler's part."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

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
    baseline = tmp_path / "baseline.json"
    options = f"{ONE} --device emulated"
    program = [sys.executable, "-m", "isthmus", "bench", "bandwidth", *options.split()]
    assert run_process([*program, "-o", str(baseline)], NO_GPU).code == 0
    isthmus = str(Path(sys.executable).with_name("isthmus"))
    environment = cluster | {
        "ISTHMUS": isthmus,
        "ISTHMUS_BENCH": options,
        "ISTHMUS_BASELINE": str(baseline),
    }
    assert run("slurm_prolog.sh", **environment).code == 0
    gone = environment | {"ISTHMUS_BASELINE": str(tmp_path / "nothing.json")}
    assert run("slurm_prolog.sh", **gone).code != 0


def test_the_init_container_runs_a_command_that_exists() -> None:
    text = (EXAMPLES / "kubernetes.yaml").read_text("utf-8")
    (command,) = re.findall(r"command: \[(.*)\]", text)
    words = [word.strip().strip('"') for word in command.split(",")]
    require_command(words)
    assert shlex.join(words).startswith("isthmus bench ")
