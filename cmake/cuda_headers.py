"""Print the folder of cudaTypedefs.h in this Python's NVIDIA wheels, or nothing."""

import importlib.util
from pathlib import Path

spec = importlib.util.find_spec("nvidia")
folders = [Path(p) for p in (spec.submodule_search_locations or [])] if spec else []
headers = [header for folder in folders for header in folder.glob("*/include/cudaTypedefs.h")]
print(max(headers).parent if headers else "")
