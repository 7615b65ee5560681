"""`isthmus fleet export` as a process, and the files that start it on real machines."""

import configparser
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="isthmus[monitor] is not installed")

from documents.test_shell_snippets import require_command
from fakes.watched_links import parsed
from program import NO_GPU, PROGRAM, Invoke, interruptible, run_code, run_process

EXAMPLES = Path(__file__).parents[2] / "examples" / "fleet"
UUIDS = [f"GPU-49535448-4d55-8553-8045-4d554c00000{number}" for number in range(2)]
FIRST = "link ffff:01:00.0 isn't known: "


@contextmanager
def exporting(*options: str, profile: str) -> Iterator["subprocess.Popen[str]"]:
    """Start the command, and end it by SIGTERM at the latest."""
    command = [*PROGRAM, "fleet", "export", *options]
    process = interruptible(command, {"ISTHMUS_DRIVER": f"emulated:{profile}"})
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def said_by(process: "subprocess.Popen[str]") -> str:
    assert process.stderr is not None
    return process.stderr.readline()


@pytest.mark.native
def test_a_textfile_has_all_gpus_and_goes_with_the_exporter(tmp_path: Path) -> None:
    textfile = tmp_path / "link.prom"
    with exporting("--textfile", str(textfile), profile="two-gpus") as process:
        # A line is said when the file is written.
        assert said_by(process) == f"{FIRST}not modelled, or hidden\n"
        found = parsed(textfile.read_text("utf-8"))
        assert sorted(tmp_path.iterdir()) == [textfile]
        assert said_by(process) == "link ffff:02:00.0 isn't known: not modelled, or hidden\n"
        process.terminate()
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "", "")
    assert not textfile.exists()
    assert {labels[1] for labels in found["isthmus_link_up"]} == set(UUIDS)
    assert set(found["isthmus_link_up"].values()) == {1}
    assert {labels[0] for labels in found["isthmus_link_up"]} == {"true"}
    rates = found["isthmus_link_probe_bytes_per_second"]
    assert all(0 < rates[uuid,] <= 3e9 for uuid in UUIDS)
    assert "isthmus_link_downtrained" not in found


@pytest.mark.native
def test_a_gpu_that_another_process_has_alone_is_named_and_the_other_is_read(
    tmp_path: Path,
) -> None:
    textfile = tmp_path / "link.prom"
    with exporting("--textfile", str(textfile), profile="two-gpus-one-busy") as process:
        said_by(process)
        found = parsed(textfile.read_text("utf-8"))["isthmus_link_up"]
    assert {(labels[1], labels[4]): value for labels, value in found.items()} == {
        (UUIDS[0], ""): 1,
        (UUIDS[1], "CUDA_ERROR_DEVICE_UNAVAILABLE"): 0,
    }


@pytest.mark.native
def test_an_endpoint_answers_and_a_second_exporter_says_that_the_port_is_taken() -> None:
    with exporting("--listen", "127.0.0.1:0", profile="half-link") as process:
        said_by(process)
        (port,) = listening(process.pid)
        with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", "/metrics")
            found = parsed(connection.getresponse().read().decode())
        assert 0 < found["isthmus_link_probe_bytes_per_second"][UUIDS[0],] <= 1.5e9
        with exporting("--listen", f"127.0.0.1:{port}", profile="small") as second:
            _, err = second.communicate()
        assert second.returncode == 2
        assert err.startswith(f"error: can't listen at 127.0.0.1:{port}: ")
        assert "Address already in use" in err
        assert "Traceback" not in err


def listening(pid: int) -> list[int]:
    """Give the TCP ports that a process listens at."""
    links = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
    sockets = {found[1] for link in links if (found := re.fullmatch(r"socket:\[(\d+)\]", link))}
    lines = [line.split() for line in Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]]
    return [int(one[1].split(":")[1], 16) for one in lines if one[3] == "0A" and one[9] in sockets]


@pytest.mark.native
def test_ctrl_c_ends_it_as_every_command() -> None:
    with exporting("--listen", "127.0.0.1:0", profile="small") as process:
        said_by(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.native
def test_without_a_gpu_it_is_exit_code_4(spawn: Invoke) -> None:
    done = spawn("fleet", "export", ISTHMUS_DRIVER="emulated:no-gpu")
    assert done.code == 4
    assert "isthmus doctor" in done.err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--listen", "9988"), "'9988' is no address"),
        (("--listen", "host:http"), "'host:http' is no address"),
        (("--textfile", "link.txt"), "--textfile FILE.prom"),
        (("--textfile", "link.prom", "--listen", "127.0.0.1:1"), "instead of --listen"),
    ],
)
def test_a_place_that_there_is_not_is_a_usage_error(
    invoke: Invoke, options: tuple[str, ...], why: str
) -> None:
    done = invoke("fleet", "export", *options)
    assert done.code == 2
    assert why in done.err


def test_without_the_package_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['prometheus_client'] = None\n"
        "from isthmus.cli.app import main; sys.exit(main(['fleet', 'export']))"
    )
    done = run_code(code, NO_GPU)
    assert done.code == 1
    assert "pip install 'isthmus[monitor]'" in done.err


def test_the_exporter_itself_never_opens_the_driver() -> None:
    """A process that has it open would keep a GPU from being reset, and MIG from being changed."""
    code = (
        "import sys, isthmus.cli.fleet.export, isthmus.fleet.link_watch\n"
        "print([one for one in sys.modules if one in ('isthmus._native', 'pynvml')])"
    )
    assert run_code(code).out == "[]\n"


def test_the_systemd_unit_runs_a_command_that_exists_and_has_no_more_rights_than_it_needs() -> None:
    unit = configparser.ConfigParser()
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    text = (EXAMPLES / "link-exporter.service").read_text("utf-8")
    unit.read_string(text)
    words = shlex.split(unit["Service"]["ExecStart"])
    require_command(words)
    assert words[1:3] == ["fleet", "export"]
    require_command(
        ["isthmus", "fleet", "export", *re.findall(r"--textfile \S+\.prom", text)[0].split()]
    )
    assert unit["Service"]["DynamicUser"] == "yes"
    # The driver's device files are needed: /dev isn't private.
    assert "PrivateDevices" not in unit["Service"]
    state = unit["Service"]["StateDirectory"]
    assert unit["Service"]["Environment"] == f"XDG_DATA_HOME=/var/lib/{state}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    text = (EXAMPLES / "link-exporter.service").read_text("utf-8")
    unit = tmp_path / "link-exporter.service"
    # Where the program isn't installed, that would be the only complaint.
    unit.write_text(text.replace("/opt/isthmus/bin/isthmus", sys.executable), "utf-8")
    done = run_process(["systemd-analyze", "verify", str(unit)])
    assert (done.code, done.out, done.err) == (0, "", "")


def test_the_daemon_set_runs_a_command_that_exists_at_the_port_that_it_names() -> None:
    yaml: Any = pytest.importorskip("yaml")
    (found,) = yaml.safe_load_all((EXAMPLES / "link_exporter.yaml").read_text("utf-8"))
    assert (found["apiVersion"], found["kind"]) == ("apps/v1", "DaemonSet")
    template = found["spec"]["template"]
    assert found["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
    (container,) = template["spec"]["containers"]
    require_command(container["command"])
    (port,) = container["ports"]
    assert container["command"][-1] == f"$(POD_IP):{port['containerPort']}"
    assert template["metadata"]["annotations"]["prometheus.io/port"] == str(port["containerPort"])
    assert container["readinessProbe"]["httpGet"] == {"path": "/metrics", "port": port["name"]}
    assert "nvidia.com/gpu" not in container["resources"].get("limits", {})
    names = {one["name"] for one in container["env"]}
    assert {"POD_IP", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"} == names
