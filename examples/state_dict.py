"""Copies many arrays by one call."""

import numpy as np

import isthmus

state = {"layers": [{"weight": np.ones((512, 512), "float32"), "bias": np.ones(512, "float32")}]}
saved = {"layers": [{"weight": np.empty((512, 512), "float32"), "bias": np.empty(512, "float32")}]}
isthmus.copy(saved, state)  # any of these may be on a GPU
print(saved["layers"][0]["bias"].sum())
