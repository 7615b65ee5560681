"""What is installed for C and C++ is whole, hides what is private, and can be moved."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import isthmus
from installed.conftest import ROOT, Installed, run_tool
from program import Golden

pytestmark = pytest.mark.native

_PUBLIC = ROOT / "cpp" / "include" / "isthmus"
_HEADERS = sorted(
    path.relative_to(_PUBLIC).as_posix() for path in _PUBLIC.rglob("*") if path.is_file()
)
# `make test` compiles these; the rest are long tests.
_EXAMPLES = {"transfer.hpp", "isthmus.h"}
_READERS = [
    pytest.param(header, language, standard, marks=() if header in _EXAMPLES else pytest.mark.long)
    for header in _HEADERS
    for language, standard in (("c", "c11"), ("c++", "c++20"))
    if language == "c++" or header.endswith(".h")
]
# Long names of C++'s own, as people write them.
_SHORT = (
    ("[abi:cxx11]", ""),
    ("std::__cxx11::", "std::"),
    ("std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"),
    ("std::basic_string_view<char, std::char_traits<char> >", "std::string_view"),
)


def read_elf(*command: str | Path) -> str:
    """Ask binutils, which come with every compiler."""
    done = run_tool([str(word) for word in command])
    assert done.code == 0, done.err
    return done.out


def exported(library: Path) -> Iterator[str]:
    """Give the names that a library exports, without versions."""
    for line in read_elf("nm", "-DC", "--defined-only", library).splitlines():
        _, kind, name = re.split(r" +", line, maxsplit=2)
        if kind != "A":  # the name of a version
            yield name.split("@@")[0]


def test_there_are_headers() -> None:
    assert {"driver.hpp", "errors.hpp", "isthmus.h", "transfer.hpp", "window.hpp"} < set(_HEADERS)


@pytest.mark.parametrize(("header", "language", "standard"), _READERS)
def test_a_public_header_needs_no_other_file_of_the_tree(
    header: str, language: str, standard: str, installed: Installed, tmp_path: Path
) -> None:
    source = tmp_path / "alone"
    source.write_text(f"#include <isthmus/{header}>\nint nothing_else;\n", "utf-8")
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only"]
    done = run_tool(
        [
            installed.compiler,
            *("-x", language, f"-std={standard}", *warnings),
            *("-I", str(installed.headers), str(source)),
        ]
    )
    assert done.code == 0, done.err


def test_the_library_exports_what_the_public_headers_declare_and_nothing_else(
    installed: Installed, golden: Golden
) -> None:
    names = set(exported(installed.libraries / "libisthmus.so"))
    for long, short in _SHORT:
        names = {name.replace(long, short) for name in names}
    golden("exported_symbols.txt", "".join(f"{name}\n" for name in sorted(names)))
    foreign = re.compile(r"^(?!isthmus_|((typeinfo|typeinfo name|vtable) for )?isthmus::\w)")
    assert not [name for name in names if foreign.match(name)]


def test_a_program_in_cpp_names_the_version_of_the_headers_that_it_was_built_with(
    installed: Installed,
) -> None:
    versions = read_elf(
        "readelf", "--version-info", "--wide", installed.libraries / "libisthmus.so"
    )
    major, minor, _ = isthmus.__version__.split(".")
    assert major == "0", "from 1.0 on the version of C++'s symbols is the major one alone"
    assert f"Name: ISTHMUS_CPP_{major}.{minor}" in versions
    assert "Name: ISTHMUS_0" in versions


def test_the_library_is_found_by_its_major_version(installed: Installed) -> None:
    version = isthmus.__version__
    links = {path.name: path.resolve().name for path in installed.libraries.glob("libisthmus.so*")}
    file = f"libisthmus.so.{version}"
    assert links == {
        "libisthmus.so": file,
        f"libisthmus.so.{version.split('.')[0]}": file,
        file: file,
    }


def test_nothing_that_is_installed_depends_on_where_it_was_built_or_installed(
    installed: Installed,
) -> None:
    for path in installed.prefix.rglob("*"):
        if path.is_dir():
            continue
        content = path.read_bytes()
        assert str(installed.was_at).encode() not in content, path
        if content.startswith(b"\x7fELF"):  # it may say where its sources were, not look there
            assert not re.search("R(UN)?PATH", read_elf("readelf", "-d", path)), path
        else:
            assert str(ROOT).encode() not in content, path


def test_each_component_is_installed_alone(installed: Installed, tmp_path: Path) -> None:
    def files(component: str) -> set[str]:
        prefix = tmp_path / component
        build = str(ROOT / "build" / "release")
        done = run_tool(
            ["cmake", "--install", build, "--prefix", str(prefix), "--component", component]
        )
        assert done.code == 0, done.err
        return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}

    parts = [files(component) for component in ("library", "headers", "cmake", "pkgconfig")]
    whole = {
        str(path.relative_to(installed.prefix))
        for path in installed.prefix.rglob("*")
        if not path.is_dir()
    }
    assert set.union(*parts) == whole
    assert sum(len(part) for part in parts) == len(whole), "a file is in two components"


def test_the_python_package_has_the_library_by_both_names_and_exports_only_itself() -> None:
    from isthmus import _native

    module = Path(str(_native.__file__))
    assert list(exported(module)) == ["PyInit__native"]
    soname = f"libisthmus.so.{isthmus.__version__.split('.')[0]}"
    for name in ("libisthmus.so", soname):
        assert f"[{soname}]" in read_elf("readelf", "-d", module.with_name(name))
    assert module.with_name("include").joinpath("isthmus", "isthmus.h").is_file()
