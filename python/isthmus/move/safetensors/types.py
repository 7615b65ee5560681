"""The format's types of items, and what other libraries call them."""

from typing import Final

# Bits of one item. Source: safetensors 0.8, Dtype.
ITEM_BITS: Final = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "U16": 16,
    "I16": 16,
    "F16": 16,
    "BF16": 16,
    "U32": 32,
    "I32": 32,
    "F32": 32,
    "U64": 64,
    "I64": 64,
    "F64": 64,
    "C64": 64,
}

# Types that NumPy has, and so CuPy.
NUMPY_NAMES: Final = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "F16": "float16",
    "U32": "uint32",
    "I32": "int32",
    "F32": "float32",
    "U64": "uint64",
    "I64": "int64",
    "F64": "float64",
    "C64": "complex64",
}

TORCH_NAMES: Final = NUMPY_NAMES | {
    "F4": "float4_e2m1fn_x2",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "BF16": "bfloat16",
}

# PyTorch's types of one byte that not every version of it exports by DLPack.
UNEXPORTED_TORCH_TYPES: Final = {
    f"torch.{name}": dtype
    for dtype, name in TORCH_NAMES.items()
    if name.startswith(("float8", "float4"))
}

# The types of items that isthmus.move.arrays reads (bindings/arrays/array.cpp), in the format's
# spelling.
TYPES_OF_ITEMS: Final = {
    **{name: dtype for dtype, name in TORCH_NAMES.items() if dtype != "F4"},
    "float4_e2m1fn": "F4",
    "float4_e2m1fnx2": "F4",
    "float6_e2m3fn": "F6_E2M3",
    "float6_e3m2fn": "F6_E3M2",
}
