"""
Print the folder with Python.h for this Python, or nothing.

Its own, if it has one; else this repository's copy for its minor version, if it is a build of the
ordinary kind on 64-bit Linux.
"""

import sys
import sysconfig
from pathlib import Path

own = Path(sysconfig.get_path("include"))
copies = Path(__file__).parents[1] / "third_party" / "cpython"
unusual = sysconfig.get_config_var("Py_DEBUG") or sysconfig.get_config_var("Py_GIL_DISABLED")
ordinary = not unusual and sys.platform == "linux" and sys.maxsize > 2**32
candidates = [own, copies / sysconfig.get_python_version()] if ordinary else [own]
print(next((folder for folder in candidates if (folder / "Python.h").exists()), ""))
