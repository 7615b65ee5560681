"""Text of any bytes passes between C++ and Python: names unchanged, messages readable."""

import os
from pathlib import Path

import pytest

from fakes import traces
from fakes.profiles import profile
from isthmus import _native
from isthmus.decide.profile.store import profile_text
from isthmus.errors import Unavailable, UsageError
from program import EMULATED, run_code

pytestmark = pytest.mark.native

NAME = os.fsdecode(b"caf\xe9")


def test_a_file_name_that_is_no_utf8_comes_back_whole(
    driver: _native.Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ISTHMUS_PROFILE", str(tmp_path / NAME))
    assert _native.profile_identity(driver, 0).file == str(tmp_path / NAME)


def test_a_name_that_is_no_utf8_is_escaped_in_messages() -> None:
    with pytest.raises(Unavailable, match=r"/caf\\xe9"):
        _native.Driver.open(f"/{NAME}")
    with pytest.raises(UsageError, match=r"caf\\xe9"):
        _native.Driver.open(f"emulated:{NAME}")
    kernel = _native.AccelSimKernel(NAME, 0, _native.TouchedLines())
    with pytest.raises(UsageError, match=r"caf\\xe9"):
        kernel.finish(missing_ctas_do_nothing=False)


def test_a_label_that_is_no_utf8_can_be_given() -> None:
    blocks = [traces.block(0, 0, 2), traces.block(1, 0, 1)]
    told = traces.program(description=NAME)
    source = _native.TraceSource(NAME, told, 2, blocks.__getitem__)
    assert source.program.description == r"caf\xe9"


@pytest.mark.parametrize(
    "contents",
    [
        b"\xff",
        b'{"schema_version": \xff',
        b'{"\xff": 1}',
        profile_text(profile()).encode().replace(b"PCIe", b"\xff\xff"),
        bytes(range(256)),
    ],
)
def test_a_profile_of_any_bytes_is_not_used_and_it_is_said_why(
    driver: _native.Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, contents: bytes
) -> None:
    path = tmp_path / NAME
    path.write_bytes(contents)
    monkeypatch.setenv("ISTHMUS_PROFILE", str(path))
    in_use = _native.profile_in_use(driver, 0)
    assert not in_use.measured
    assert "is not used: " in in_use.source
    assert in_use.source.encode()


_WITHOUT_MEMORY = """
import resource
import isthmus

transfers = isthmus.Transfers(isthmus.Windows("emulated"))
text = "x" * (1 << 28)
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + (1 << 25),) * 2)
for call in (
    lambda: transfers.use_profile(text),
    lambda: transfers.copy_async(bytearray(1), b"1", source_order=text),
    lambda: isthmus.Windows("emulated", backend=text),
    lambda: transfers.copy({text: b"1"}, {}),
):
    try:
        call()
    except MemoryError:
        print("MemoryError")
"""


def test_a_text_for_which_there_is_no_memory_raises() -> None:
    done = run_code(_WITHOUT_MEMORY, EMULATED)
    assert (done.code, done.out) == (0, "MemoryError\n" * 4), done.err
