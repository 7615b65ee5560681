"""Machines as TOML files, checked by the simulator, some of which run a small program."""

import zlib
from functools import cache
from importlib import resources

from edits import Choices
from fuzzing import fuzz, require, require_readable
from isthmus.errors import Deadlock, UsageError
from isthmus.sim.machine import ModelledMachine
from isthmus.sim.machine_files import parse_machine
from isthmus.sim.policy import default_policy, policy_names
from isthmus.sim.quantities import STORED
from isthmus.sim.running import check_setup, run
from isthmus.sim.settings import Setup

# Of the machines that can be, one in so many runs a program.
_RUN = 64
# In place of what a line says.
_VALUES = (
    *("0", "1", "-1", "2", "3", "7", "64", "255", "256", "4094", "4095", "65536", "1048576"),
    *("4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "1" + "0" * 400),
    *("0x7fffffff", "0b1", "1_000", "1.5", "nan", "inf", "-inf", "1e9", "true", "false"),
    *('""', '"0"', '"1 B"', '"128 B"', '"64 KiB"', '"1.5 GiB"', '"4095 MiB"', '"8388607 TiB"'),
    *('"1 ps"', '"1 s"', '"1000 s"', '"1001 s"', '"9223372 s"', '"1 GB/s"', '"1 MB/s"', '"1 B/s"'),
    *('"1 GHz"', '"1 MHz"', '"99 GHz"', '"9223372036854775807"', '"1e3"', '"each"', '"batch"'),
    *(
        '"atan"',
        '"none"',
        '"\\u001b[31m\\n"',
        "'''\n'''",
        "1979-05-27T07:32:00Z",
        "[]",
        "{}",
        "[[1]]",
    ),
    *('[{ size = "1 KiB", busy = "1 us" }]', "[{ size = 1, busy = 0 }]", "{ a.b.c.d = 1 }"),
    *("[" * 300 + "]" * 300, "{a=" * 99 + "1" + "}" * 99, '"' + "x" * 999 + '"'),
)


@cache
def _lines() -> tuple[str, ...]:
    file = resources.files("isthmus.sim") / "machines" / "paper-gtx480.toml"
    lines = (line.split("#")[0].rstrip() for line in file.read_text("utf-8").splitlines())
    return tuple(line for line in lines if line)


def check(data: bytes) -> None:
    """
    See that a text is refused in a line, or is a machine that the simulator takes or refuses.

    Behind a # is the text. Of all else, the bytes choose what is changed in a machine's lines.
    """
    text = data[1:] if data[:1] == b"#" else _changed(Choices(data)).encode()
    try:
        machine = parse_machine(text, "a machine")
    except UsageError as error:
        require_readable(error)
        return
    again = ModelledMachine.model_validate(machine.model_dump(), context=STORED)
    require(again == machine, f"{machine} is read again as {again}")
    setup = Setup(machine=machine, policy=default_policy(policy_names()[len(data) % 5]))
    try:
        check_setup(setup)
    except UsageError as error:
        require_readable(error)
        return
    if zlib.crc32(data) % _RUN == 0:
        _run(setup)


def _changed(choices: Choices) -> str:
    lines = list(_lines())
    while choices and lines:
        place = choices.number(len(lines))
        name = lines[place].partition("=")[0].strip()
        action = choices.number(8)
        if action == 0:
            del lines[place]
        elif action == 1:
            lines.insert(choices.number(len(lines)), lines[place])
        elif action == 2:
            lines[place] = f"{name}.x = {choices.one_of(_VALUES)}"
        else:
            lines[place] = f"{name} = {choices.one_of(_VALUES)}"
    return "\n".join(lines)


def _run(setup: Setup) -> None:
    from fakes import traces

    try:
        result = run(traces.source(), setup)
    except Deadlock as error:
        require(str(error), "a deadlock without words")
        return
    except UsageError as error:
        require_readable(error)
        return
    require(result.total_ps > 0, "a program took no time")


if __name__ == "__main__":
    fuzz(check)
