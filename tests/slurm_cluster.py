"""
A cluster of Slurm on one machine: munged, slurmctld, and a slurmd for each of its nodes.

All of it runs in namespaces of its own, with its own key and configuration in a folder. Nothing
outside of them is changed, and all of it is gone in the end; only if pytest is killed, the daemons
stay. Needs root and Debian's slurm-wlm and munge.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from namespaces import started_apart, why_none
from program import Outcome, run_process

_HEAD = "head"
_CONTROLLER_PORT, _FIRST_PORT = 6817, 7001
_CONFIGURATION = """ClusterName=test
SlurmctldHost={head}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=/run/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir=/run/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
SwitchType=switch/none
JobCompType=jobcomp/none
MailProg=/bin/true
# A node of these tests is drained by its prolog alone.
SlurmdParameters=config_overrides
ReturnToService=2
{more}
"""
# Sockets are in a /run of its own: a folder of a test has too long a path for them.
_BOOT = """set -eu
mount -t tmpfs tmpfs /run
hostname {head}
ip link set lo up
# With loopback alone, Slurm finds no address at all.
ip link add eth0 type veth peer name eth1
ip address add 198.18.0.1/24 dev eth0
ip link set eth0 up
ip link set eth1 up
cd {folder}
munged --force --socket=/run/munge.socket --key-file={folder}/munge.key \\
    --log-file={folder}/munged.log --pid-file={folder}/munged.pid --seed-file={folder}/munged.seed
export SLURM_CONF={folder}/slurm.conf
slurmctld -f "$SLURM_CONF"
for node in {nodes}; do slurmd -f "$SLURM_CONF" -N "$node"; done
echo ready
exec sleep 1d
"""


class SlurmCluster:
    """A cluster that is there."""

    def __init__(self, folder: Path, process: int) -> None:
        """Use the namespaces of a process."""
        self.folder = folder
        self._process = process

    def inside(self, command: Sequence[str]) -> list[str]:
        """Give a command that runs where Slurm's programs reach their controller."""
        target = ["nsenter", "--net", "--uts", "--mount", "--wd", "--target", str(self._process)]
        return [*target, "env", f"SLURM_CONF={self.folder / 'slurm.conf'}", *command]

    def run(
        self, *command: str, environment: Mapping[str, str] | None = None, max_seconds: float = 60
    ) -> Outcome:
        """Run a command there."""
        return run_process(self.inside(command), environment or {}, max_seconds=max_seconds)

    def states(self) -> dict[str, str]:
        """Give each node's state, as `sinfo` writes it."""
        done = self.run("sinfo", "--noheader", "--Node", "--format", "%N %T")
        assert done.code == 0, done.err
        return dict(line.split(maxsplit=1) for line in done.out.splitlines())


def what_is_missing() -> str:
    """Say why there can be no cluster here; "" if there can."""
    needed = ("ip", "munged", "slurmctld", "slurmd", "sbatch", "srun")
    return why_none(needed, "slurm-wlm munge iproute2")


@contextmanager
def slurm_cluster(folder: Path, nodes: Sequence[str], more: str = "") -> Iterator[SlurmCluster]:
    """
    Start a cluster, and end it with all that runs on it.

    Args:
        folder: An empty folder.
        nodes: The names of its nodes, of one core each.
        more: More lines of its configuration.
    """
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    lines = [
        f"NodeName={node} NodeHostname={_HEAD} NodeAddr=127.0.0.1 Port={port} CPUs=1"
        for port, node in enumerate(nodes, start=_FIRST_PORT)
    ]
    lines.append("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    text = _CONFIGURATION.format(
        head=_HEAD, port=_CONTROLLER_PORT, folder=folder, more="\n".join([more, *lines])
    )
    (folder / "slurm.conf").write_text(text, "utf-8")
    boot = _BOOT.format(head=_HEAD, folder=shlex.quote(str(folder)), nodes=shlex.join(nodes))
    with ExitStack() as stack:
        yield SlurmCluster(folder, started_apart(stack, boot))
