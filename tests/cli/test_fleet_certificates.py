"""A cluster of Dask with the certificates of examples/fleet/certificates.sh."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from program import NO_GPU, PROGRAM, run_process

pytest.importorskip("distributed", reason="isthmus[scale] is not installed")
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

MAKING = ["sh", str(Path(__file__).parents[2] / "examples" / "fleet" / "certificates.sh")]
NAMES = ["ca.pem", "client.pem", "scheduler.pem", "worker.pem"]


def test_the_files_are_the_users_alone_and_none_can_sign_another_certificate(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "of mine"
    made = run_process([*MAKING, str(folder)])
    assert made.code == 0, made.err
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert "PRIVATE KEY" not in (folder / "ca.pem").read_text()
    strict = ["openssl", "verify", "-x509_strict", "-CAfile", str(folder / "ca.pem")]
    for name in NAMES[1:]:
        assert run_process([*strict, str(folder / name)]).code == 0
    assert run_process([*MAKING, str(folder)]).code != 0
    assert sorted(path.name for path in folder.iterdir()) == NAMES


@contextmanager
def cluster(configuration: Path, folder: Path) -> Iterator[str]:
    """Start a scheduler and a worker that use a configuration; gives the scheduler's address."""
    environment = os.environ | NO_GPU | {"DASK_CONFIG": str(configuration)}
    dask = [sys.executable, "-m"]
    known = folder / "scheduler.json"
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> None:
        log = (folder / f"{len(started)}.log").open("wb")
        with log:
            started.append(
                subprocess.Popen([*dask, *arguments], env=environment, stdout=log, stderr=log)
            )

    try:
        start(
            *("distributed.cli.dask_scheduler", "--host", "tls://127.0.0.1", "--port", "0"),
            *("--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
            *("--scheduler-file", str(known)),
        )
        start(
            *("distributed.cli.dask_worker", "--scheduler-file", str(known), "--nthreads", "1"),
            *("--host", "127.0.0.1", "--no-nanny", "--dashboard-address", "127.0.0.1:0"),
        )
        end = time.monotonic() + 60
        while not known.exists() or b"Registered to" not in (folder / "1.log").read_bytes():
            assert time.monotonic() < end
            assert all(one.poll() is None for one in started)
        yield json.loads(known.read_text("utf-8"))["address"]
    finally:
        for one in started:
            one.kill()
            one.wait()


@pytest.mark.long
@pytest.mark.native
def test_a_cluster_uses_the_certificates_and_whoever_has_none_of_them_is_refused(
    tmp_path: Path,
) -> None:
    configured = []
    for name in ("ours", "theirs"):
        configured.append(tmp_path / f"{name}.yaml")
        configured[-1].write_text(run_process([*MAKING, str(tmp_path / name)]).out)
    ours, theirs = configured
    sweep = ("sim", "sweep", "cp", "-a", "policy=tree,ranges", "-o", str(tmp_path / "s.parquet"))
    with cluster(ours, tmp_path) as address:
        assert address.startswith("tls://127.0.0.1:")
        command = [*PROGRAM, *sweep, "--scheduler", address]
        short = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
        none, other, right = (
            run_process(command, NO_GPU | more)
            for more in (short, short | {"DASK_CONFIG": str(theirs)}, {"DASK_CONFIG": str(ours)})
        )
    for refused in (none, other):
        assert refused.code == 2
        assert f"no scheduler answers at {address}: " in refused.err
        assert "its certificates must be in Dask's configuration here" in refused.err
    assert right.code == 0, right.err
    assert "2 of 2 points in " in right.err
