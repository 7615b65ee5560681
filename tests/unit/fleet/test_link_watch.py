"""The links of a node, round by round, and what Prometheus reads of them."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path

import pytest

pytest.importorskip("prometheus_client", reason="isthmus[monitor] is not installed")

from fakes.fleets import Made, write_fleet
from fakes.watched_links import Machine, child, metrics_of
from isthmus.errors import UsageError
from isthmus.fleet.link_watch import Endpoint, LinkWatch
from isthmus.measure.run.reading import read_run_file
from isthmus.measure.run.store import save_run

GPU = ("GPU-0",)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(2)
    for module in ("cli.fleet.link_probe", "fleet.link_watch"):
        monkeypatch.setattr(f"isthmus.{module}.time", made.time)
    return made


@pytest.fixture
def watch(machine: Machine) -> LinkWatch:
    return LinkWatch(machine.readings(), machine.start)


def up_of(found: dict[str, dict[tuple[str, ...], float]]) -> dict[tuple[str, str], float]:
    """Give, by UUID and reason, whether a link was read."""
    return {(labels[1], labels[4]): value for labels, value in found["isthmus_link_up"].items()}


def test_nothing_is_said_of_a_gpu_before_the_first_round(watch: LinkWatch) -> None:
    assert metrics_of(watch) == {}


def test_healthy_links_have_all_metrics(watch: LinkWatch, machine: Machine) -> None:
    lines = watch.round()
    assert lines == [f"link 0000:0{n}:00.0 is healthy: Gen5 x16 under load" for n in range(2)]
    found = metrics_of(watch)
    labels = ("false", "GPU-0", "NVIDIA H100", "0000:00:00.0", "")
    assert found["isthmus_link_up"][labels] == 1
    assert {name: values[GPU] for name, values in found.items() if GPU in values} == {
        "isthmus_link_read_timestamp_seconds": pytest.approx(1.7e9 + machine.now, abs=1),
        "isthmus_link_generation": 5,
        "isthmus_link_generation_max": 5,
        "isthmus_link_width_lanes": 16,
        "isthmus_link_width_max_lanes": 16,
        "isthmus_link_downtrained": 0,
        "isthmus_link_probe_bytes_per_second": pytest.approx((1 << 20) / 20e-6),
        "isthmus_link_probe_seconds": pytest.approx(160e-6),
        "isthmus_link_replays_total": 3,
    }


@pytest.mark.parametrize("state", [(2, 16), (5, 8)])
def test_a_downtrained_link_appears_after_one_round_and_goes_after_one(
    watch: LinkWatch, machine: Machine, state: tuple[int, int]
) -> None:
    watch.round()
    machine.trained["0000:01:00.0"] = state
    line = f"is downtrained: Gen{state[0]} x{state[1]} under load, at most Gen5 x16"
    assert watch.round()[1] == f"link 0000:01:00.0 {line}"
    found = metrics_of(watch)["isthmus_link_downtrained"]
    assert found == {("GPU-0",): 0, ("GPU-1",): 1}
    machine.trained["0000:01:00.0"] = (5, 16)
    watch.round()
    assert metrics_of(watch)["isthmus_link_downtrained"] == {("GPU-0",): 0, ("GPU-1",): 0}


def test_a_gpu_that_fails_is_0_with_a_reason_and_none_of_its_old_values_stays(
    watch: LinkWatch, machine: Machine
) -> None:
    watch.round()
    before = metrics_of(watch)["isthmus_link_read_timestamp_seconds"]
    machine.refuses[0] = "CUDA_ERROR_ECC_UNCORRECTABLE"
    machine.now += 50
    lines = watch.round()
    assert lines[0] == "link 0000:00:00.0 isn't known: CUDA_ERROR_ECC_UNCORRECTABLE!"
    assert lines[1].endswith("is healthy: Gen5 x16 under load")
    found = metrics_of(watch)
    assert up_of(found) == {("GPU-0", "CUDA_ERROR_ECC_UNCORRECTABLE"): 0, ("GPU-1", ""): 1}
    with_values = {name for name, values in found.items() if GPU in values}
    assert with_values == {"isthmus_link_read_timestamp_seconds"}
    assert found["isthmus_link_read_timestamp_seconds"][GPU] == before[GPU]
    del machine.refuses[0]
    watch.round()
    assert up_of(metrics_of(watch)) == {("GPU-0", ""): 1, ("GPU-1", ""): 1}


@pytest.mark.parametrize(
    "said", ["", "Segmentation fault", "[]", '{"width": -1}', '{"wrong": 1}', '{"width": NaN}']
)
def test_a_process_that_says_anything_else_has_crashed(machine: Machine, said: str) -> None:
    watch = LinkWatch(machine.readings(), lambda _uuid: child(said))
    watch.round()
    assert up_of(metrics_of(watch)) == {("GPU-0", "crashed"): 0, ("GPU-1", "crashed"): 0}


def test_a_process_that_hangs_is_killed_once_started_and_the_others_are_read(
    machine: Machine,
) -> None:
    hung, started = child(None), list[str]()

    def start(uuid: str) -> object:
        started.append(uuid)
        return hung if uuid == "GPU-0" else machine.start(uuid)

    watch = LinkWatch(machine.readings(), start)  # type: ignore[arg-type]
    for _ in range(3):
        watch.round()
    assert up_of(metrics_of(watch)) == {("GPU-0", "timed_out"): 0, ("GPU-1", ""): 1}
    assert started.count("GPU-0") == 1
    assert started.count("GPU-1") == 3
    assert hung.killed  # type: ignore[attr-defined]


def test_the_processes_end_with_the_watch(machine: Machine) -> None:
    running = child(json.dumps({}))
    watch = LinkWatch(machine.readings(), lambda _uuid: running)
    watch.round()
    watch.close()
    assert running.killed  # type: ignore[attr-defined]


def test_rates_are_those_of_the_last_kept_run_of_each_gpu(machine: Machine, tmp_path: Path) -> None:
    watch = LinkWatch([one.found(uuid="GPU-n00") for one in machine.readings()[:1]], machine.start)
    for slower, hour in ((1.0, 1), (2.0, 2)):
        folder = write_fleet(tmp_path / f"{hour}", [Made(name="n00", slower=slower)])
        run = read_run_file(next(folder.rglob("*.json")))
        begun = datetime(2026, 11, 28, hour, tzinfo=UTC)
        identity = run.run.model_copy(update={"started_at": begun, "id": f"{hour:08x}"})
        save_run(run.model_copy(update={"run": identity}))
        watch.round()
        found = metrics_of(watch)["isthmus_link_run_bytes_per_second"]
        largest = max(
            (one for one in run.results if one.test == "host_to_device_memcpy_ce"),
            key=lambda one: one.bytes,
        )
        assert found["h2d", "GPU-n00"] == largest.median
    # A later run without such copies, and a file that is no run, hide nothing.
    later = identity.model_copy(update={"id": "33333333", "started_at": begun.replace(hour=3)})
    file = save_run(run.model_copy(update={"run": later, "results": []}))
    file.with_name("20261128T040000Z-44444444.json").write_text("{")
    watch.round()
    assert metrics_of(watch)["isthmus_link_run_bytes_per_second"] == found


def test_the_documentation_names_every_metric_and_no_other(watch: LinkWatch) -> None:
    watch.round()
    page = (Path(__file__).parents[3] / "docs" / "fleet.md").read_text("utf-8")
    # Rates of runs are there only if there are runs.
    named = set(re.findall(r"isthmus_link_\w+", page)) - {"isthmus_link_run_bytes_per_second"}
    assert named == metrics_of(watch).keys()


@contextmanager
def serving(text: bytes, host: str = "127.0.0.1") -> Iterator[int]:
    """Serve a text, and give the port."""
    with Endpoint(host, 0, lambda: text) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def status_of(port: int, path: str, method: str = "GET") -> int:
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path)
        return connection.getresponse().status


def test_only_metrics_are_answered_and_no_request_says_anything_in_the_log(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with serving(b"one 1\n") as port:
        with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"one 1\n")
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        for path in ("/", "/metrics?name[]=x", "/metrics/../etc/passwd", "/favicon.ico"):
            assert status_of(port, path) == 404
        assert status_of(port, "/metrics", "POST") == 501
        with closing(socket.create_connection(("127.0.0.1", port))) as broken:
            broken.sendall(b"\x00\xff nonsense\r\n\r\n")
            broken.recv(1024)
    assert capfd.readouterr() == ("", "")


def test_a_port_in_use_is_one_clear_error() -> None:
    with serving(b"") as port, pytest.raises(UsageError) as caught:
        Endpoint("127.0.0.1", port, lambda: b"")
    assert f"can't listen at 127.0.0.1:{port}: " in str(caught.value)
    assert "Address already in use" in str(caught.value)
    assert "--listen" in caught.value.hint


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70_000), ("no such host", 1)])
def test_an_address_that_there_is_not_is_refused(host: str, port: int) -> None:
    with pytest.raises(UsageError, match="can't listen at"):
        Endpoint(host, port, lambda: b"")
