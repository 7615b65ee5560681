"""
Print the path of a file in this Python's NVIDIA wheels, the last by name if there are several.

The argument is a pattern below their folder: "*/include/cudaTypedefs.h". Prints nothing if there
is no such file.
"""

import importlib.util
import sys
from pathlib import Path

spec = importlib.util.find_spec("nvidia")
folders = [Path(p) for p in (spec.submodule_search_locations or [])] if spec else []
print(max((file for folder in folders for file in folder.glob(sys.argv[1])), default=""))
