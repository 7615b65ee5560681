import contextlib
import json
import os
import tomllib
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from pydantic import BaseModel, ValidationError

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.sim.machine import ModelledMachine, native_machine
from isthmus.sim.machine_files import load_machine, machine_names
from isthmus.sim.native import native_policy
from isthmus.sim.policy import default_policy
from isthmus.sim.quantities import STORED, Quantity
from isthmus.sim.schema import main, schema_text

FOLDER = resources.files("isthmus.sim") / "machines"
COMMITTED = Path(__file__).parents[3] / "docs/schema/machine-v1.json"


def paper_text() -> str:
    return (FOLDER / "paper-gtx480.toml").read_text(encoding="utf-8")


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_there_are_the_machines_that_were_promised() -> None:
    assert machine_names() == [
        "a100-pcie4",
        "gh200-c2c",
        "h100-pcie5",
        "h200-pcie5",
        "paper-gtx480",
        "rtx5090-pcie5",
    ]


@pytest.mark.parametrize("name", machine_names())
def test_every_machine_is_read_under_its_own_name_and_fits_the_schema(name: str) -> None:
    assert load_machine(name).name == name
    document = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    jsonschema.validate(document, json.loads(schema_text()))


@pytest.mark.parametrize("name", machine_names())
def test_every_value_of_a_machine_has_a_word_on_where_it_comes_from(name: str) -> None:
    lines = (FOLDER / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    values = [line for line in lines if " = " in line and not line.startswith(("#", "schema"))]
    bare = [line for line in values if "#" not in line]
    allowed = ("name", "description", "packet_overhead", "handling", "half_duplex")
    assert [line for line in bare if not line.startswith(allowed)] == []


def test_the_schema_is_the_committed_one() -> None:
    assert main(["--check", str(COMMITTED)]) == 0


def test_the_papers_machine_is_table_1() -> None:
    machine = load_machine("paper-gtx480")
    assert machine.cores.count == 15
    assert machine.cores.clock == 700_000_000
    assert machine.partitions.count * machine.partitions.dram_bandwidth == 384_000_000_000
    assert machine.link.bandwidth == 16_000_000_000
    assert machine.tlb.entries == 128
    assert machine.gmmu.buffer_entries == 128
    assert machine.partitions.memory == 1536 << 20
    assert machine.faults.latency == 0


@pytest.mark.native
def test_what_the_simulator_allows_a_file_may_say_and_nothing_else() -> None:
    """0 is the number that a quantity and a row's limits could see differently."""
    for row in _native.sim_parameters():
        native = _native.SimMachine()
        document = load_machine("paper-gtx480").model_dump()
        document[row.group][row.name] = False if row.quantity == "flag" else 0
        try:
            native.set(row, 0)
            native.check()
        except UsageError:
            with pytest.raises(ValidationError):
                ModelledMachine.model_validate(document, context=STORED)
        else:
            ModelledMachine.model_validate(document, context=STORED)


@pytest.mark.parametrize(
    ("before", "after", "message", "hint"),
    [
        ("ways = 4 ", "wayz = 4 ", "there is no 'l1.wayz'", "did you mean ways?"),
        ("[link]", "[lnik]", "there is no 'lnik'", "did you mean link?"),
        ('bandwidth = "16 GB/s" ', "bandwidth = 16 ", "link.bandwidth: ", "16GB/s"),
        ('bandwidth = "16 GB/s" ', 'bandwidth = "0 GB/s" ', "nothing would ever", "32GB/s"),
        ("entries = 128", "entries = 0", "tlb.entries: ", "8"),
        ('size = "16 KiB"', "size = 1000", "a whole number of sets", "docs/simulate.md"),
        ('handling = "each"', 'handling = "any"', "faults.handling: should be", "docs"),
        ("schema_version = 1", "schema_version = 2", "schema_version: ", "docs"),
        ("[cores]", "[cores", "is not TOML", "docs/simulate.md"),
        ("half_duplex = false", "", "link.half_duplex: field required", "docs"),
        ("entries = 128", "entries = 4294967296", "tlb.entries: number '42949", "at most 42949"),
        ("entries = 128", f"entries = {10**400}", "tlb.entries: number of 1329 bits", "at most"),
        ("entries = 128", f"entries = 0x{'f' * 5000}", "number of 20000 bits", "at most"),
        ("entries = 128", f"entries = {'9' * 5000}", "is not TOML: Exceeds the limit", "docs"),
        ("entries = 128", "entries = -1", "'-1' is not a number", "8"),
        ("entries = 128", "entries = nan", "nan is not a number", "8"),
        ("entries = 128", "entries = true", "True is not a number", "8"),
        ("entries = 128", f"entries = {[[[[[[[[1]]]]]]]]}", "[[[[[[[...]]]]]]] is no", "8"),
        ("entries = 128", f"entries = '{'x' * 9999}'", "... (9999 characters)' is no", "8"),
        ("entries = 128", f"entries = {'[' * 3000}", "is not TOML", "docs/simulate.md"),
        ("entries = 128", f"a{'.a' * 20000} = 1", "has more than 250 dots", "docs/simulate.md"),
        ("[cores]", f"{'x' * 9999} = 1\n[cores]", "... (9999 characters)'", "did you mean"),
        ("[cores]", f"#{' ' * 70_000}\n[cores]", "it has more than 65536 bytes", "paper-gtx480"),
    ],
)
def test_a_machine_that_can_not_be_is_refused_with_the_place(
    tmp_path: Path, before: str, after: str, message: str, hint: str
) -> None:
    assert before in paper_text()
    with pytest.raises(UsageError) as caught:
        load_machine(written(tmp_path, paper_text().replace(before, after, 1)))
    assert message in str(caught.value)
    assert hint in caught.value.hint
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "contents", [b"\xff", b"\0", bytes(range(256)), b"a = 1\r", b"\xef\xbb\xbf"]
)
def test_bytes_that_are_no_toml_are_refused(tmp_path: Path, contents: bytes) -> None:
    (tmp_path / "mine.toml").write_bytes(contents)
    with pytest.raises(UsageError, match=r"is not TOML|there is no 'a'"):
        load_machine(str(tmp_path / "mine.toml"))


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "endless"):
        with pytest.raises(UsageError, match="it is not a regular file"):
            load_machine(str(tmp_path / f"{name}.toml"))
    for name in ("null\0byte", "\ud800", "x" * 5000):
        with pytest.raises(UsageError, match="can't read machine"):
            load_machine(f"{name}.toml")


def sections_of(model: BaseModel) -> dict[str, BaseModel]:
    found = {name: getattr(model, name) for name in type(model).model_fields}
    return {name: part for name, part in found.items() if isinstance(part, BaseModel)}


def the_most(model: BaseModel) -> dict[str, int]:
    """Give each number of a section at the largest that is read."""
    return {
        name: quantity.most
        for name, field in type(model).model_fields.items()
        for quantity in field.metadata
        if isinstance(quantity, Quantity)
    }


@pytest.mark.native
def test_the_simulator_takes_every_number_that_is_read_or_says_what_it_can_be() -> None:
    """A number larger than its integers was an error of another kind."""
    paper = load_machine("paper-gtx480")
    for section, part in sections_of(paper).items():
        for name, most in the_most(part).items():
            changed = paper.model_copy(update={section: part.model_copy(update={name: most})})
            with contextlib.suppress(UsageError):
                native_machine(changed)
    policy = default_policy("ranges")
    for name, most in the_most(policy).items():
        assert native_policy(policy.model_copy(update={name: most}), paper) is not None


def test_a_machine_that_is_not_there_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_machine("h100")
    assert "h100-pcie5" in caught.value.hint
    with pytest.raises(UsageError, match="can't read machine"):
        load_machine(str(tmp_path / "absent.toml"))


def test_a_link_has_costs_or_a_curve_but_not_both(tmp_path: Path) -> None:
    costs = 'costs = [{ size = "1 KiB", busy = "1 us" }, { size = "4 KiB", busy = "2 us" }]'
    both = paper_text().replace("[faults]", f'curve = "atan"\n{costs}\n[faults]')
    with pytest.raises(UsageError, match="either costs or a curve"):
        load_machine(written(tmp_path, both))
    alone = paper_text().replace("[faults]", f"{costs}\n[faults]")
    assert load_machine(written(tmp_path, alone)).link.costs[1].busy == 2_000_000
    falling = alone.replace('"1 KiB"', '"8 KiB"')
    with pytest.raises(UsageError, match="rising size"):
        load_machine(written(tmp_path, falling))
