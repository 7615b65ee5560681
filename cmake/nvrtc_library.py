"""Print the path of libnvrtc in this Python's NVIDIA wheels, or nothing."""

import importlib.util
from pathlib import Path

spec = importlib.util.find_spec("nvidia")
folders = [Path(p) for p in (spec.submodule_search_locations or [])] if spec else []
libraries = [library for folder in folders for library in folder.glob("*/lib/libnvrtc.so.*")]
print(max(libraries) if libraries else "")
