"""
Copies many arrays in one call.

Uses the first GPU. Without one: ISTHMUS_DRIVER=emulated python 3_copy_state_dict.py
"""

import numpy as np

import isthmus

state = {"layers": [{"weight": np.ones((512, 512), "float32"), "bias": np.ones(512, "float32")}]}
on_device = {
    "layers": [
        {
            "weight": isthmus.device_empty((512, 512), "float32"),
            "bias": isthmus.device_empty(512, "float32"),
        }
    ]
}
isthmus.copy(on_device, state)

saved = {"layers": [{"weight": np.empty((512, 512), "float32"), "bias": np.empty(512, "float32")}]}
isthmus.copy(saved, on_device)
print("sum of the bias:", saved["layers"][0]["bias"].sum())
