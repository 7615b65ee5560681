"""Which part may know which: ARCHITECTURE.md's rules, checked in the includes and imports."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CORE = ROOT / "cpp" / "src"

# Folder of cpp/src -> the folders it may include from, itself aside.
MAY_INCLUDE = {
    "driver": set[str](),
    "host": set[str](),
    "device": {"driver", "host"},
    "window": {"driver", "device", "host"},
    "transfer": {"driver", "device", "host", "window"},
    "paged": {"driver", "device", "host", "transfer"},
    "capi": {"driver", "host", "window", "transfer"},
    "measure": {"driver", "device", "host", "window", "transfer", "paged", "trace", "workloads"},
    "trace": set[str](),
    "pages": set[str](),
    "workloads": {"trace"},
    "sim": {"trace", "pages"},
}
# Folders of cpp/src/transfer, floor by floor: a folder includes from lower floors only.
FLOORS_OF_TRANSFER = (
    {"pinned", "profile"},
    {"request"},
    {"saving", "staging"},
    {"movers"},
    {"plan"},
    {"carriers"},
    {"many"},
    {"blocks"},
    {"copy"},
)
# The rooms of python/isthmus, from the ground up: each imports from lower floors alone.
FLOORS = (
    {"ground"},
    {"files"},
    {"measure", "move"},
    {"decide", "fleet"},
    {"watching"},
    {"show"},
    {"reproduce", "sim"},
    {"cli"},
    {"isthmus"},  # what is handed out: `import isthmus`, isthmus.torch, isthmus.integrations
)
# The same within a room that has several parts.
PARTS = {
    "move": (
        {"arrays"},
        {"windows"},
        {"transfer"},
        {"device_memory", "pinned"},
        {"emulation", "paged", "safetensors"},
        {"numba", "torch"},
    ),
    "measure": ({"run"}, {"compare", "expected", "machine", "query"}, {"bench", "doctor"}),
    "decide": ({"profile"}, {"advice"}),
}
# Modules that lie beside the rooms, since users import them: where they belong.
BESIDE = {"errors": ("ground", "errors"), "pinned": ("move", "pinned")}

# What only some parts of python/isthmus may import.
MAY_KNOW = {
    "isthmus._native": {"cli", "decide", "measure", "move", "pinned.py", "sim", "watching"},
    # Published figures and runs are shown as they are: the command line measures.
    "isthmus.measure.bench": {"cli", "measure"},
    "isthmus.measure.machine": {"cli", "measure"},
    # What is modelled is never mixed with what is measured or copied.
    "isthmus.sim": {"__init__.py", "cli", "sim"},
    "isthmus.move": {"__init__.py", "cli", "decide", "move", "numba.py", "pinned.py", "torch.py"},
    "cuda": {"ground", "measure"},
    "duckdb": {"measure"},
    "dask": {"fleet"},
    "distributed": {"fleet"},
    "prometheus_client": {"cli", "fleet"},
    "pynvml": {"measure"},
    "typer": {"cli"},
}


def sources(folder: Path, *patterns: str) -> list[Path]:
    found = sorted(path for pattern in patterns for path in folder.rglob(pattern))
    assert found, f"no sources below {folder}: has the layout moved?"
    return found


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#include\s+[<"]([^>"]+)[>"]', path.read_text("utf-8"), re.MULTILINE)


@cache
def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_every_folder_of_the_core_has_a_rule() -> None:
    folders = {path.name for path in CORE.iterdir() if path.is_dir()}
    assert folders == set(MAY_INCLUDE)


@pytest.mark.parametrize("folder", sorted(MAY_INCLUDE))
def test_a_folder_of_the_core_includes_only_what_it_may_know(folder: str) -> None:
    for path in sources(CORE / folder, "*.hpp", "*.cpp", "*.inc"):
        for header in includes(path):
            part = header.split("/")[0] if "/" in header else ""
            if part in MAY_INCLUDE and part != folder:
                assert part in MAY_INCLUDE[folder], f"{path.relative_to(ROOT)} includes {header}"


def test_a_folder_of_transfer_includes_only_from_lower_floors() -> None:
    floors = {name: floor for floor, names in enumerate(FLOORS_OF_TRANSFER) for name in names}
    folders = {path.name for path in (CORE / "transfer").iterdir() if path.is_dir()}
    assert folders == set(floors)
    for path in sources(CORE / "transfer", "*.hpp", "*.cpp"):
        for header in includes(path):
            part = header.split("/")[1] if header.startswith("transfer/") else ""
            if part and part != path.parent.name:
                assert floors[part] < floors[path.parent.name], f"{path} includes {header}"


def test_the_host_layer_knows_no_cuda() -> None:
    for path in sources(CORE / "host", "*.hpp", "*.cpp"):
        assert not [header for header in includes(path) if "cuda" in header.lower()], path


def test_only_the_driver_layer_opens_libcuda_or_includes_its_headers() -> None:
    for path in sources(CORE, "*.hpp", "*.cpp"):
        if path.parent.name == "driver":
            continue
        assert "libcuda" not in path.read_text("utf-8"), path
        assert not [h for h in includes(path) if h in {"cuda.h", "cudaTypedefs.h"}], path


def test_only_the_driver_layer_calls_a_driver_function_by_its_name() -> None:
    call = re.compile(r"\bcu[A-Z]\w+\s*\(")
    for path in sources(CORE, "*.hpp", "*.cpp"):
        if path.parent.name == "driver":
            continue
        code = re.sub(r"//.*|\"[^\"]*\"", "", path.read_text("utf-8"))
        assert not call.findall(code), path


def test_the_environment_is_read_in_one_place() -> None:
    """A program with more rights than its user must not load what its user names."""
    readers = [
        path.relative_to(CORE).as_posix()
        for folder in (CORE, ROOT / "bindings", ROOT / "cpp" / "emulator" / "src")
        for path in sources(folder, "*.hpp", "*.cpp")
        if re.search(r"\bgetenv\b|\bsecure_getenv\b|\benviron\b", path.read_text("utf-8"))
    ]
    assert readers == ["driver/environment.cpp"]
    # The dynamic linker preloads nothing into a program with more rights than its user.
    preloaded = sources(ROOT / "cpp" / "preload", "*.cpp")
    assert {path.name for path in preloaded if "getenv" in path.read_text("utf-8")} == {
        "counters_file.cpp",
        "engine.cpp",
        "settings.cpp",
    }


def test_only_windows_open_the_device_files_of_gpus() -> None:
    for path in sources(CORE, "*.hpp", "*.cpp"):
        if path.relative_to(CORE).parts[:2] != ("window", "backends"):
            assert '"/dev/nvidia' not in path.read_text("utf-8"), path


def test_only_the_bindings_know_nanobind_and_nothing_in_the_core_knows_python() -> None:
    for path in sources(ROOT / "cpp", "*.hpp", "*.cpp", "*.h"):
        foreign = [h for h in includes(path) if h.startswith("nanobind") or h == "Python.h"]
        assert not foreign, path


def test_text_crosses_between_the_languages_in_one_way() -> None:
    """nanobind's own caster would be another definition of the same one."""
    for path in sources(ROOT / "bindings", "*.hpp", "*.cpp"):
        assert "nanobind/stl/string.h" not in includes(path), f"{path}: include text.hpp"


def test_the_core_and_the_emulator_share_only_the_controls_and_the_kernels() -> None:
    for path in sources(ROOT / "cpp" / "emulator", "*.hpp", "*.cpp", "*.h"):
        assert not [h for h in includes(path) if h.split("/")[0] in MAY_INCLUDE], path


def test_the_core_uses_no_streams_of_the_cpp_library() -> None:
    """Another copy of it in a Python process breaks them: see host/system/text_file.cpp."""
    streams = {"fstream", "iostream", "istream", "ostream", "sstream", "iomanip"}
    for path in sources(CORE, "*.hpp", "*.cpp") + sources(ROOT / "bindings", "*.hpp", "*.cpp"):
        assert not set(includes(path)) & streams, path


def test_json_is_read_in_one_file_and_without_streams() -> None:
    """Its header takes seconds to compile, and would bring the streams along."""
    readers = [
        path.relative_to(ROOT).as_posix()
        for folder in ("cpp", "bindings")
        for path in sources(ROOT / folder, "*.hpp", "*.cpp")
        if any(header.startswith("nlohmann") for header in includes(path))
    ]
    assert readers == ["cpp/src/transfer/profile/json_document.cpp"]
    settings = (ROOT / "cmake" / "FindJsonHeaders.cmake").read_text("utf-8")
    assert "JSON_NO_IO" in settings


def test_only_the_command_line_prints() -> None:
    package = ROOT / "python" / "isthmus"
    for path in sources(package, "*.py"):
        if path.relative_to(package).parts[0] == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            printed = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "print"
            )
            assert not printed, f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)} prints"


def writes(node: ast.AST) -> bool:
    """Say whether something makes, changes, names or removes a file or a folder."""
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == "os":
            return node.attr in WRITING_FUNCTIONS
        return node.attr in WRITING_METHODS
    if isinstance(node, ast.Call):
        # A mode of open(), as an argument of any function of that name.
        opens = getattr(node.func, "id", getattr(node.func, "attr", "")) == "open"
        given = [*node.args, *(word.value for word in node.keywords)]
        modes = [str(one.value) for one in given if isinstance(one, ast.Constant)]
        return opens and any(set(m) <= set("rwaxbt+") and set(m) & set("wax+") for m in modes)
    return False


WRITING_FUNCTIONS = {
    *("O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC", "write", "pwrite", "truncate"),
    *("rename", "replace", "unlink", "remove", "mkdir", "makedirs", "rmdir", "symlink", "link"),
    *("fsync", "fdatasync", "ftruncate", "chmod", "fchmod"),
}
WRITING_METHODS = {
    *("write_text", "write_bytes", "mkdir", "unlink", "rmdir", "touch", "symlink_to"),
    *("hardlink_to", "write_table", "new_stream", "OSFile", "mkstemp", "NamedTemporaryFile"),
}
# Of standard error, a table that is made in memory, and a pipe.
WRITES_ELSEWHERE = {
    "cli/startup.py": {"write"},
    "cli/stderr.py": {"O_WRONLY", "write"},
    "fleet/processes.py": {"write"},
    "measure/query/store.py": {"write_table"},
    "sim/store.py": {"write_table"},
}


def test_only_one_part_writes_files() -> None:
    package = ROOT / "python" / "isthmus"
    for path in sources(package, "*.py"):
        name = path.relative_to(package).as_posix()
        if name.startswith("files/"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if writes(node) and getattr(node, "attr", "") not in WRITES_ELSEWHERE.get(name, set()):
                raise AssertionError(f"{name}:{getattr(node, 'lineno', 0)} writes a file")


@pytest.mark.parametrize(
    "source", ["open(p, 'w')", "p.open(mode='r+b')", "os.fsync(3)", "p.mkdir()"]
)
def test_what_writes_a_file_is_seen(source: str) -> None:
    assert any(map(writes, ast.walk(ast.parse(source))))
    assert not any(map(writes, ast.walk(ast.parse("open(p, 'rb'); os.open(p, os.O_RDONLY)"))))


@pytest.mark.parametrize("name", sorted(MAY_KNOW))
def test_a_foreign_module_is_known_only_where_it_is_needed(name: str) -> None:
    package = ROOT / "python" / "isthmus"
    for path in sources(package, "*.py"):
        if any(found == name or found.startswith(f"{name}.") for found in imports(path)):
            part = path.relative_to(package).parts[0]
            assert part in MAY_KNOW[name], f"{path.relative_to(ROOT)} imports {name}"


def imported_modules(path: Path, modules: set[str]) -> set[str]:
    """List those of the modules that a file imports, also inside functions and for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            found.update(name if name in modules else node.module for name in inner)
    return found & modules


def circle_of(known: dict[str, set[str]]) -> set[str]:
    """List the modules that know each other in a circle, and those that know such ones."""
    left = dict(known)
    while free := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in free}
    return set(left)


def package_modules() -> dict[str, Path]:
    """Find the file of each module of the package."""
    package = ROOT / "python" / "isthmus"
    paths = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts): path
        for path in sources(package, "*.py", "*.pyi")
    }
    return {name.removesuffix(".__init__"): path for name, path in paths.items()}


def test_no_modules_of_the_package_import_each_other_in_a_circle() -> None:
    modules = package_modules()
    assert not circle_of(
        {name: imported_modules(path, set(modules)) - {name} for name, path in modules.items()}
    )


def test_a_circle_is_seen() -> None:
    assert circle_of({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == {"a", "b", "c"}


def place(module: str) -> tuple[str, str]:
    """Give a module's room, and its part of that room."""
    room, part, *_ = [*module.split(".")[1:], "", ""]
    in_a_room = any(room in rooms for rooms in FLOORS)
    return BESIDE.get(room, (room, part) if in_a_room else ("isthmus", room))


def arrows() -> set[tuple[tuple[str, str], tuple[str, str]]]:
    """List which part imports from which; the native module is below all."""
    modules = package_modules()
    native = "isthmus._native"
    return {
        (place(name), place(other))
        for name, path in modules.items()
        if name != native
        for other in imported_modules(path, set(modules)) - {native}
    }


def arrows_of_rooms() -> set[tuple[str, str]]:
    return {(one, other) for (one, _), (other, _) in arrows() if one != other}


def climbing(found: set[tuple[str, str]], floors: tuple[set[str], ...]) -> list[tuple[str, str]]:
    """List the imports from the same floor or a higher one."""
    floor = {name: number for number, names in enumerate(floors) for name in names}
    return [(one, other) for one, other in sorted(found) if floor[one] <= floor[other]]


def test_rooms_of_the_package_import_from_lower_floors_alone() -> None:
    rooms = {place(name)[0] for name in package_modules()}
    assert rooms == set[str]().union(*FLOORS)
    assert climbing(arrows_of_rooms(), FLOORS) == []


def test_adapters_of_engines_know_the_public_package_and_each_other_alone() -> None:
    adapters = "isthmus.integrations"
    for name, path in package_modules().items():
        known = {found for found in imports(path) if found.split(".")[0] == "isthmus"}
        if name.startswith(adapters):
            foreign = {found for found in known if not found.startswith(adapters)}
            assert foreign <= {"isthmus"}, f"{path.relative_to(ROOT)} imports {foreign}"
        else:
            assert not [found for found in known if found.startswith(adapters)], path


@pytest.mark.parametrize("room", PARTS)
def test_parts_of_a_room_import_from_lower_floors_alone(room: str) -> None:
    found = {(one[1], other[1]) for one, other in arrows() if one[0] == other[0] == room}
    assert climbing({(one, other) for one, other in found if one != other}, PARTS[room]) == []


def test_a_climb_is_seen() -> None:
    floors = ({"a"}, {"b", "c"})
    assert climbing({("b", "a"), ("a", "b"), ("c", "b")}, floors) == [("a", "b"), ("c", "b")]


def test_the_package_is_seen_at_a_glance() -> None:
    assert len(FLOORS) <= 9
    assert len(set[str]().union(*FLOORS)) <= 12


def test_no_file_is_named_for_nothing() -> None:
    empty_names = re.compile(r"^(utils?|helpers?|common|misc|managers?)$")
    for folder in ("cpp", "python", "bindings", "kernels", "tests"):
        for path in sources(ROOT / folder, "*.*"):
            assert not empty_names.match(path.stem), path


def test_no_source_file_is_longer_than_400_lines() -> None:
    for folder, patterns in {
        "cpp": ("*.hpp", "*.cpp", "*.h"),
        "python": ("*.py",),
        "bindings": ("*.hpp", "*.cpp"),
        "kernels": ("*.cu", "*.cuh"),
    }.items():
        for path in sources(ROOT / folder, *patterns):
            assert len(path.read_text("utf-8").splitlines()) <= 400, path


def test_the_architecture_names_every_room_and_no_other() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rooms = set(MAY_INCLUDE) | set[str]().union(*FLOORS) - {"isthmus"}
    assert {room for room in rooms if not re.search(rf"`(?:[\w/]*/)?{room}`", page)} == set()
    named = re.findall(r"`((?:cpp|python|tests|kernels|docs)/[\w/.]+)`", page)
    assert [path for path in named if not (ROOT / path).exists()] == []
