"""Where programs in C are compiled, once for all tests of this folder."""

import platform

import pytest

from preloading import Place

if platform.machine() != "x86_64":
    collect_ignore_glob = ["test_*"]  # the library is built for x86-64 alone


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("preload"))
