"""Programs in C that run with the preloaded library, and what it counted."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from isthmus.watching.layout import layout
from program import Outcome, run_process

ROOT = Path(__file__).parents[1]
PRELOAD = ROOT / "cpp" / "preload"
PROGRAMS = ROOT / "tests" / "unit" / "preload" / "programs"


@cache
def libraries() -> Path:
    """Find the folder of the native libraries."""
    from isthmus import _native

    return Path(_native.Driver.open("emulated").path).parent


WATCH = "libisthmus_watch.so"


def tool(name: str) -> str:
    """Find what every machine has that builds the package."""
    found = shutil.which(name)
    assert found is not None, f"no {name} on this machine"
    return found


@cache
def cuda_headers() -> Path:
    """Find cuda.h: in NVIDIA's package, or in a toolkit."""
    import isthmus

    wheels = [*Path(isthmus.__file__).parents[2].glob("lib"), *map(Path, sys.path)]
    found = [path for folder in wheels for path in folder.glob("nvidia/*/include/cuda.h")]
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include" / "cuda.h"
    return (found or [toolkit])[0].parent


@dataclass(frozen=True)
class Counters:
    """What one process counted."""

    header: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    threads: Sequence[Mapping[str, Any]]
    repeats: Sequence[Mapping[str, Any]]
    events: Sequence[Mapping[str, Any]]

    def sum(self, member: str, entry: str = "", **wanted: object) -> int:
        """Add up a member of the rows of an entry point; "cuMemcpy" is one of all copies."""
        return sum(
            row[member]
            for row in self.rows
            if row["entry"].startswith(entry)
            and all(row[name] == value for name, value in wanted.items())
        )

    def copies(self) -> dict[str, int]:
        """Count the calls of each entry point that copies."""
        counts: dict[str, int] = {}
        for row in self.rows:
            if row["entry"].startswith("cuMemcpy"):
                counts[row["entry"]] = counts.get(row["entry"], 0) + row["calls"]
        return counts

    def sites(self) -> set[str]:
        """List the places that copies came from."""
        return {row["site"] for row in self.rows if row["entry"].startswith("cuMemcpy")}


def _texts(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.split(b"\0")[0].decode("utf-8", "replace")
        if isinstance(value, bytes)
        else value
        for name, value in record.items()
    }


def read_counters(path: Path) -> Counters:
    """Read one process's file."""
    found, data = layout(), path.read_bytes()
    header = _texts(found.header.at(data, 0))

    def table(name: str) -> dict[int, dict[str, Any]]:
        record, capacity, offset = found.tables[name]
        used = record.used_in(data[offset : offset + capacity * record.size])
        return {number: _texts(values) for number, values in used}

    entries, sites = table("entries"), table("sites")
    rows = [row for row in table("rows").values() if row["state"] == 2]
    for row in rows:
        row["entry"] = entries[row["entry"]]["name"]
        row["source"], row["target"] = (found.kinds[row[end]] for end in ("source", "target"))
        row["site"] = sites[row["site"] - 1]["place"] if row["site"] else ""
    num_events = min(header["events_used"], header["events_capacity"])
    return Counters(
        header,
        rows,
        [thread for thread in table("threads").values() if thread["tid"]],
        [repeat for repeat in table("repeats").values() if repeat["key"]],
        [
            _texts(found.event.at(data, found.events + number * found.event.size))
            for number in range(num_events)
        ],
    )


@dataclass(frozen=True)
class Watched:
    """A program that ran, and the counters of its processes in the order in which they began."""

    outcome: Outcome
    processes: Sequence[Counters]
    without_room: int = 0
    """Processes that counted in memory alone."""

    @property
    def only(self) -> Counters:
        """The counters of the only process."""
        (one,) = self.processes
        return one


EXEC = MappingProxyType(
    {"ISTHMUS_EXEC": "on", "ISTHMUS_EXEC_UP": "131072", "ISTHMUS_EXEC_DOWN": "131072"}
)


class Place:
    """A folder with the emulated driver as libcuda.so.1, and programs that are linked with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.driver = folder / "driver"
        self.driver.mkdir()
        emulator = libraries() / "libisthmus_emulator.so"
        (self.driver / "libcuda.so.1").symlink_to(emulator)
        self._runs = 0
        names = subprocess.run(
            [tool("nm"), "-D", "--defined-only", emulator],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        functions = re.findall(r" T (cu\w+|isthmus_emulator_\w+)$", names, re.MULTILINE)
        stub = "".join(f".globl {name}\n.type {name},@function\n{name}:\n" for name in functions)
        self.stub = self.compile_text(
            stub,
            "libcuda_stub.so",
            "-x",
            "assembler",
            "-shared",
            "-nostdlib",
            "-Wl,-soname,libcuda.so.1",
            is_linked=False,
        )

    def compile_text(self, text: str, name: str, *options: str, is_linked: bool = True) -> Path:
        """Compile what stands in a string."""
        source = self.folder / f"{name}.source"
        source.write_text(text, "utf-8")
        return self._compile(source, name, *options, is_linked=is_linked)

    def compile(self, source: str, *options: str, name: str = "", is_linked: bool = True) -> Path:
        """Compile a file of `programs`, unless it has been."""
        made = self.folder / (name or source.partition(".")[0])
        if not made.exists():
            self._compile(PROGRAMS / source, made.name, *options, is_linked=is_linked)
        return made

    def _compile(self, source: Path, name: str, *options: str, is_linked: bool) -> Path:
        made = self.folder / name
        inputs = ["-Wl,--no-as-needed", str(self.stub)] if is_linked else []
        done = subprocess.run(
            [
                tool("gcc"),
                "-std=gnu11",
                "-D_GNU_SOURCE",
                "-O1",
                "-g",
                "-Wall",
                "-Werror",
                "-pthread",
                f"-I{cuda_headers()}",
                f"-I{ROOT / 'cpp' / 'emulator' / 'include'}",
                *options,
                "-o",
                str(made),
                str(source),
                *inputs,
                "-ldl",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return made

    def environment(self, counters: Path, more: Mapping[str, str]) -> dict[str, str]:
        """Give what preloads the library into a program with the emulated driver."""
        return {
            "LD_LIBRARY_PATH": str(self.driver),
            "LD_PRELOAD": str(libraries() / WATCH),
            "ISTHMUS_WATCH_FOLDER": str(counters),
            "ISTHMUS_WATCH_SITES": "1",
            "ISTHMUS_EXEC_LIBRARY": str(libraries() / "libisthmus_exec.so"),
            "CUDA_MPS_PIPE_DIRECTORY": str(self.folder / "no mps"),
            **more,
        }

    def plain(self, command: Sequence[object], more: Mapping[str, str] = EXEC) -> Outcome:
        """Run a program with the driver alone."""
        without = {"LD_PRELOAD": "", "LD_AUDIT": ""}
        return run_process(
            [str(part) for part in command],
            self.environment(self.folder, more) | without,
        )

    def watched(
        self,
        command: Sequence[object],
        more: Mapping[str, str] = MappingProxyType({}),
        *,
        max_seconds: float = 60,
    ) -> Watched:
        """Run a program with the library."""
        self._runs += 1
        counters = self.folder / f"run{self._runs}"
        counters.mkdir()
        outcome = run_process(
            [str(part) for part in command],
            self.environment(counters, more),
            max_seconds=max_seconds,
        )
        files = sorted(counters.glob("*.counters"), key=lambda path: path.stem.split("-")[1])
        whole = [path for path in files if path.stat().st_size]
        return Watched(outcome, [read_counters(path) for path in whole], len(files) - len(whole))

    def like_the_driver(self, *command: object, **settings: str) -> Watched:
        """Run a program with exec, which must say and end with what it does by the driver alone."""
        watched = self.watched(command, {**EXEC, **settings})
        assert watched.outcome == self.plain(command, {**EXEC, **settings})
        assert "WRONG" not in watched.outcome.out
        return watched
