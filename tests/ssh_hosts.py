"""
Hosts of SSH on one machine: each has a network, a name, a key and an sshd of its own.

A host is a process in namespaces of its own, and so is what connects to the hosts. Nothing outside
of them is changed, and all of it is gone with these processes. Needs root and Debian's
openssh-server and iproute2.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from namespaces import kill, network_of, running_in, started_apart, why_none

# Of those that RFC 2544 keeps for tests: nothing else is there.
_NETWORK = "198.18"
# Debian's sshd needs this folder, and the real /run stays as it is.
_BOOT = """set -eu
mount -t tmpfs tmpfs /run
mkdir /run/sshd
hostname {name}
ip link set lo up
{more}
echo ready
exec /usr/sbin/sshd -D -e -f {config}
"""
_CLIENT_BOOT = "ip link set lo up && echo ready && exec sleep 1d"
_SSHD = """ListenAddress 0.0.0.0
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
StrictModes no
UsePAM no
PidFile none
SetEnv XDG_DATA_HOME={folder}/data XDG_CACHE_HOME={folder}/cache DASK_CONFIG={folder}/dask
{more}
"""
_CLIENT = """Host *
    IdentityFile {folder}/user_key
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    User root
    # What users often have, and what must not outlive the command.
    ControlMaster auto
    ControlPath {folder}/%C
    ControlPersist 60
"""


@dataclass(frozen=True, kw_only=True)
class Host:
    """
    What is special about a host.

    Attributes:
        name: Its name.
        known: Whether its key is known.
        boot: Commands for its start, as root.
        sshd: More lines for its sshd's configuration.
    """

    name: str
    known: bool = True
    boot: str = ""
    sshd: str = ""


class SshHosts:
    """Some hosts that are there, and commands that can reach them."""

    def __init__(self, folder: Path, client: int, networks: Mapping[str, str]) -> None:
        """Use the network of a process, which reaches those of the hosts."""
        self._folder = folder
        self._client = client
        self._networks = networks

    def reaching(self, command: Sequence[str]) -> list[str]:
        """Give a command that runs where the hosts can be reached."""
        return ["nsenter", "--net", "--target", str(self._client), *command]

    def environment(self) -> dict[str, str]:
        """Give an environment whose `ssh` knows the hosts, and nothing of the user's own."""
        return {"PATH": f"{self._folder / 'bin'}:{os.environ['PATH']}"}

    def file(self, *names: str) -> Path:
        """Write a file of hosts."""
        path = self._folder / f"{'-'.join(names)}.txt"
        path.write_text("".join(f"{name}\n" for name in names), "utf-8")
        return path

    def running(self, host: str) -> dict[int, str]:
        """Give the processes of a host, each with the name of its program."""
        return running_in(self._networks[host])

    def kill_sshd(self, host: str) -> None:
        """Kill a host's sshd, with what it has started for each connection."""
        for process, program in self.running(host).items():
            if program.startswith("sshd"):
                kill(process)


def what_is_missing() -> str:
    """Say why there can be no hosts here; "" if there can."""
    needed = ("ip", "ssh", "ssh-keygen", "/usr/sbin/sshd")
    return why_none(needed, "openssh-server iproute2")


@contextmanager
def ssh_hosts(folder: Path, hosts: Sequence[Host]) -> Iterator[SshHosts]:
    """
    Start hosts, and end them with all that runs on them.

    Beside them, the name "gone" leads to an address where nothing is.
    """
    with ExitStack() as stack:
        _make_key(folder / "user_key")
        client = started_apart(stack, _CLIENT_BOOT)
        networks = {
            host.name: network_of(_connected(stack, client, number, host, folder / host.name))
            for number, host in enumerate(hosts, start=1)
        }
        _write_configuration(folder, hosts)
        yield SshHosts(folder, client, networks)


def _connected(stack: ExitStack, client: int, number: int, host: Host, folder: Path) -> int:
    """Start a host, and lay a cable between it and the client."""
    folder.mkdir()
    _make_key(folder / "host_key")
    shutil.copy(folder.parent / "user_key.pub", folder)
    config = folder / "sshd_config"
    config.write_text(_SSHD.format(folder=folder, more=host.sshd), "utf-8")
    boot = _BOOT.format(name=host.name, more=host.boot, config=shlex.quote(str(config)))
    process = started_apart(stack, boot)
    at_client, at_host = _in_network(client), _in_network(process)
    at_client(f"ip link add v{number} type veth peer name eth0 netns {process}")
    for run, device, address in ((at_client, f"v{number}", 1), (at_host, "eth0", 2)):
        run(f"ip address add {_NETWORK}.{number}.{address}/24 dev {device}")
        run(f"ip link set {device} up")
    return process


def _write_configuration(folder: Path, hosts: Sequence[Host]) -> None:
    """Write what the client's ssh knows: addresses, keys and options."""
    at = {host.name: f"{_NETWORK}.{number}.2" for number, host in enumerate(hosts, start=1)}
    at["gone"] = f"{_NETWORK}.1.9"
    names = "".join(f"Host {name}\n    HostName {where}\n" for name, where in at.items())
    (folder / "ssh_config").write_text(names + _CLIENT.format(folder=folder), "utf-8")
    keys = [
        f"{at[host.name]} {(folder / host.name / 'host_key.pub').read_text('utf-8')}"
        for host in hosts
        if host.known
    ]
    (folder / "known_hosts").write_text("".join(keys), "utf-8")
    # OpenSSH reads the user's own file in the home that /etc/passwd names, whatever HOME says.
    wrapper = folder / "bin" / "ssh"
    wrapper.parent.mkdir()
    ssh = shutil.which("ssh")
    wrapper.write_text(f'#!/bin/sh\nexec {ssh} -F "{folder}/ssh_config" "$@"\n', "utf-8")
    wrapper.chmod(0o755)


def _make_key(path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(command, check=True)


def _in_network(process: int) -> Callable[[str], None]:
    def run(command: str) -> None:
        where = ["nsenter", "--net", "--target", str(process)]
        subprocess.run([*where, *command.split()], check=True)

    return run
