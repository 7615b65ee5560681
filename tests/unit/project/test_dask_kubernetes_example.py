"""The example of a cluster of Dask on Kubernetes: what it says, and its programs as processes."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from program import NO_GPU, PROGRAM, run_process

pytest.importorskip("distributed", reason="isthmus[scale] is not installed")

import yaml  # type: ignore[import-untyped]

pytestmark = pytest.mark.long

EXAMPLE = Path(__file__).parents[3] / "examples" / "fleet" / "dask_kubernetes.yaml"
# Parts of it, by name.
Spec = dict[str, Any]
MOUNTED = "/etc/isthmus-fleet"
ROLES = ("scheduler", "worker")
DASK = [sys.executable, "-m", "dask"]
# Dask's words as it starts: one of the scheduler's addresses, and that a worker has joined.
_SCHEDULER_AT = re.compile(r"Scheduler at: +tls://\S+:(\d+)")
_HEALTH_AT = re.compile(r"dashboard at: +http://\S+:(\d+)/")
_JOINED = re.compile(r"(Registered to): +tls://127.0.0.1:\d+")


@pytest.fixture(name="cluster", scope="module")
def parsed() -> Spec:
    found: Spec
    (found,) = yaml.safe_load_all(text())
    return found


def text() -> str:
    return EXAMPLE.read_text("utf-8")


def pod_of(cluster: Spec, role: str) -> Spec:
    found: Spec = cluster["spec"][role]["spec"]
    return found


def container_of(cluster: Spec, role: str) -> Spec:
    found: Spec
    (found,) = pod_of(cluster, role)["containers"]
    assert found["name"] == role
    return found


def environment_of(cluster: Spec, role: str) -> dict[str, str]:
    return {one["name"]: one["value"] for one in container_of(cluster, role)["env"]}


def test_it_is_a_cluster_of_the_operator(cluster: Spec) -> None:
    assert (cluster["apiVersion"], cluster["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")


def test_the_service_leads_to_the_scheduler_by_the_ports_that_the_operator_looks_for(
    cluster: Spec,
) -> None:
    name = cluster["metadata"]["name"]
    service = cluster["spec"]["scheduler"]["service"]
    assert service["selector"] == {
        "dask.org/cluster-name": name,
        "dask.org/component": "scheduler",
    }
    ports = {
        one["name"]: one["containerPort"] for one in container_of(cluster, "scheduler")["ports"]
    }
    assert {one["targetPort"]: one["port"] for one in service["ports"]} == ports
    assert {one["name"] for one in service["ports"]} == {"tcp-comm", "http-dashboard"}
    # The operator names the service after the cluster.
    address = f"tls://{name}-scheduler:{ports['tcp-comm']}"
    assert address in container_of(cluster, "worker")["command"]


@pytest.mark.parametrize("role", ROLES)
def test_each_role_gets_the_authority_and_its_own_certificate_alone(
    cluster: Spec, role: str
) -> None:
    (volume,) = pod_of(cluster, role)["volumes"]
    items = {one["key"]: one["path"] for one in volume["secret"]["items"]}
    assert items == {"ca.pem": "ca.pem", f"{role}.pem": f"{role}.pem"}
    (mount,) = container_of(cluster, role)["volumeMounts"]
    assert mount == {"name": volume["name"], "mountPath": MOUNTED, "readOnly": True}
    created = re.search(rf"create secret generic {volume['secret']['secretName']} ", text())
    assert created is not None
    assert f"--from-file=tls/{role}.pem" in text()
    assert "client.pem" not in text()


@pytest.mark.parametrize("role", ROLES)
def test_dask_reads_the_environment_as_encrypted_traffic_alone(cluster: Spec, role: str) -> None:
    code = (
        "from distributed import Security; import ssl; one = Security(); "
        f"print(one.require_encryption is True, one.tls_min_version == ssl.TLSVersion.TLSv1_3, "
        f"one.tls_ca_file, one.tls_{role}_cert)"
    )
    without = {"DASK_CONFIG": "/nowhere"}
    done = run_process([sys.executable, "-c", code], environment_of(cluster, role) | without)
    assert done.out == f"True True {MOUNTED}/ca.pem {MOUNTED}/{role}.pem\n"


def test_a_node_has_one_worker_with_all_of_its_gpus_and_no_quota_of_the_cpu(cluster: Spec) -> None:
    limits = container_of(cluster, "worker")["resources"]["limits"]
    assert list(limits) == ["nvidia.com/gpu"]
    # A text: the operator's definition of a DaskCluster refuses numbers.
    assert limits["nvidia.com/gpu"] == "8"
    assert "resources" not in container_of(cluster, "scheduler")
    affinity = pod_of(cluster, "worker")["affinity"]["podAntiAffinity"]
    (rule,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"]["matchLabels"] == {
        "dask.org/cluster-name": cluster["metadata"]["name"],
        "dask.org/component": "worker",
    }


@pytest.mark.parametrize("role", ROLES)
def test_dask_knows_every_option(cluster: Spec, role: str) -> None:
    first, second, *rest = container_of(cluster, role)["command"]
    assert (first, second) == ("dask", role)
    known = run_process([*DASK, role, "--help"]).out
    options = [word.split("=")[0] for word in rest if word.startswith("--")]
    assert len(options) >= 4
    assert [one for one in options if not re.search(rf"{one}\b(?!-)", known)] == []


class Started:
    """A program of the example as a process here, whose words are in a file."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                command, env=os.environ | environment, stdout=file, stderr=file
            )

    def said(self, what: re.Pattern[str]) -> str:
        """Wait until it has said something, and give the first group."""
        end = time.monotonic() + 60
        while (found := what.search(self._log.read_text("utf-8"))) is None:
            assert time.monotonic() < end
            assert self.process.poll() is None, self._log.read_text("utf-8")
        return found[1]


@contextmanager
def programs(cluster: Spec, folder: Path) -> Iterator[Callable[[str, dict[str, str]], Started]]:
    """Give what starts a role's command, with certificates of this folder and other words in it."""
    with ExitStack() as stack:

        def start(role: str, words: dict[str, str]) -> Started:
            command = [words.get(one, one) for one in container_of(cluster, role)["command"]]
            assert all(word in container_of(cluster, role)["command"] for word in words)
            environment = {
                name: value.replace(MOUNTED, str(folder / "tls"))
                for name, value in environment_of(cluster, role).items()
            }
            environment |= NO_GPU | {"DASK_CONFIG": "/nowhere"}
            one = Started([*DASK, *command[1:]], environment, folder / f"{role}.log")
            stack.callback(one.process.wait)
            stack.callback(one.process.kill)
            return one

        yield start


def answer_of(port: int, page: str) -> tuple[int, bytes]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", page)
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.long
@pytest.mark.native
def test_its_programs_find_each_other_and_a_client_measures_and_http_says_health_alone(
    cluster: Spec, tmp_path: Path
) -> None:
    made = run_process(["sh", str(EXAMPLE.parent / "certificates.sh"), str(tmp_path / "tls")])
    (tmp_path / "dask.yaml").write_text(made.out)
    with programs(cluster, tmp_path) as start:
        free = {"--port=8786": "--port=0", "--dashboard-address=:8787": "--dashboard-address=:0"}
        scheduler = start("scheduler", free)
        address = f"tls://127.0.0.1:{scheduler.said(_SCHEDULER_AT)}"
        worker = start(
            "worker",
            {
                "tls://isthmus-fleet-scheduler:8786": address,
                "--name=$(DASK_WORKER_NAME)": "--name=one",
            },
        )
        worker.said(_JOINED)
        port = int(scheduler.said(_HEALTH_AT))
        assert answer_of(port, "/health") == (200, b"ok")
        for page in ("/info/main/workers.html", "/json/identity.json", "/status", "/metrics"):
            assert answer_of(port, page)[0] == 404
        measured = run_process(
            [
                *(*PROGRAM, "fleet", "bench", "--scheduler", address, "-d", "emulated"),
                *("-t", "host_to_device_memcpy_ce", "--sizes", "4", "--repeat", "1"),
                *("-o", str(tmp_path / "runs")),
            ],
            NO_GPU | {"DASK_CONFIG": str(tmp_path / "dask.yaml")},
        )
    assert measured.code == 0, measured.err
    assert "1 run in " in measured.err
