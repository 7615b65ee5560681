"""`isthmus fleet certificates`, and a cluster that uses them."""

import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from program import NO_GPU, PROGRAM, Invoke, run_process

pytest.importorskip("distributed", reason="isthmus[scale] is not installed")
pytest.importorskip("cryptography", reason="isthmus[scale] is not installed")

from cryptography import x509

NAMES = ["ca.pem", "client.pem", "scheduler.pem", "worker.pem"]


def test_the_files_are_the_users_alone_and_the_lines_are_a_configuration_of_dask(
    invoke: Invoke, tmp_path: Path
) -> None:
    import yaml  # type: ignore[import-untyped]

    folder = tmp_path / 'a "folder" of mine'
    outcome = invoke("fleet", "certificates", str(folder))
    assert outcome.code == 0
    assert outcome.err.startswith(f"written: {folder}, valid for 365 days")
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    tls = yaml.safe_load(outcome.out)["distributed"]["comm"]
    assert tls == {
        "require-encryption": True,
        "tls": {
            "min-version": 1.3,
            "ca-file": f"{folder}/ca.pem",
            **{
                role: {"cert": f"{folder}/{role}.pem"} for role in ("scheduler", "worker", "client")
            },
        },
    }


def test_no_file_can_sign_another_certificate(invoke: Invoke, tmp_path: Path) -> None:
    invoke("fleet", "certificates", str(tmp_path / "tls"))
    keys = 0
    for name in NAMES:
        text = (tmp_path / "tls" / name).read_bytes()
        (found,) = x509.load_pem_x509_certificates(text)
        limits = found.extensions.get_extension_for_class(x509.BasicConstraints).value
        assert limits.ca == (name == "ca.pem")
        keys += b"PRIVATE KEY" in text
        assert (b"PRIVATE KEY" in text) == (name != "ca.pem")
    assert keys == 3


def test_certificates_are_valid_for_as_long_as_wanted_and_for_clocks_that_are_late(
    invoke: Invoke, tmp_path: Path
) -> None:
    invoke("fleet", "certificates", str(tmp_path / "tls"), "--days", "30")
    for name in NAMES:
        (found,) = x509.load_pem_x509_certificates((tmp_path / "tls" / name).read_bytes())
        assert found.not_valid_after_utc - found.not_valid_before_utc == timedelta(days=31)
        assert found.not_valid_before_utc < datetime.now(UTC) - timedelta(hours=23)


def test_certificates_are_accepted_by_the_strictest_check(invoke: Invoke, tmp_path: Path) -> None:
    invoke("fleet", "certificates", str(tmp_path / "tls"))
    ends = [ssl.SSLContext(one) for one in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)]
    for context, role in zip(ends, ("scheduler", "client"), strict=True):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
        context.load_verify_locations(tmp_path / "tls" / "ca.pem")
        context.load_cert_chain(tmp_path / "tls" / f"{role}.pem")
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = ends[0].wrap_bio(to_server, to_client, server_side=True)
    client = ends[1].wrap_bio(to_client, to_server)
    waiting = [client, server]
    for _ in range(4):
        for end in list(waiting):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(end)
    assert waiting == []
    assert server.getpeercert() is not None


def test_what_exists_is_never_replaced(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    for name in ("empty", "file", "link"):
        outcome = invoke("fleet", "certificates", str(tmp_path / name))
        assert (outcome.code, outcome.out) == (2, "")
        assert "exists: secrets are never replaced" in outcome.err
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "mine"


def test_a_disk_that_is_full_leaves_nothing(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isthmus.files import secret

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(secret, "write_all", full)
    outcome = invoke("fleet", "certificates", str(tmp_path / "tls"))
    assert (outcome.code, outcome.out) == (1, "")
    assert "No space left on device" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_without_cryptography_the_error_names_the_extra(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.x509", None)
    outcome = invoke("fleet", "certificates", str(tmp_path / "tls"))
    assert outcome.code == 1
    assert "is not installed (needs pip install 'isthmus[scale]')" in outcome.err
    assert list(tmp_path.iterdir()) == []


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
    invoke: Invoke, tmp_path: Path
) -> None:
    configured = []
    for name in ("ours", "theirs"):
        configured.append(tmp_path / f"{name}.yaml")
        configured[-1].write_text(invoke("fleet", "certificates", str(tmp_path / name)).out)
    ours, theirs = configured
    sweep = ("fleet", "sweep", "cp", "-a", "policy=tree,ranges", "-o", str(tmp_path / "s.parquet"))
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
