"""Print the folder of cudaTypedefs.h in this Python's NVIDIA wheels, or nothing."""

import importlib.util
from pathlib import Path

spec = importlib.util.find_spec("nvidia")
folders = [Path(p) for p in (spec.submodule_search_locations or [])] if spec else []
found = [header.parent for folder in folders for header in sorted(folder.glob("*/include/cudaTypedefs.h"))]
print(found[-1] if found else "")
