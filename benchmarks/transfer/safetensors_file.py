"""Writes a safetensors file like that of a language model, of a given size."""

import json
import os
from pathlib import Path

MIB = 1 << 20
_TILE_BYTES = 64 * MIB
# The shapes of BF16 matrices and norms in a layer of width 4096, as in many published models.
_LAYER = {
    "input_layernorm": (4096,),
    "self_attn.q_proj": (4096, 4096),
    "self_attn.k_proj": (1024, 4096),
    "self_attn.v_proj": (1024, 4096),
    "self_attn.o_proj": (4096, 4096),
    "post_attention_layernorm": (4096,),
    "mlp.gate_proj": (14336, 4096),
    "mlp.up_proj": (14336, 4096),
    "mlp.down_proj": (4096, 14336),
}
_ITEM_BYTES = 2


def write_model(path: Path, min_bytes: int) -> int:
    """
    Write whole layers of random bytes until there are enough.

    Returns:
        The file's size.
    """
    members: dict[str, object] = {}
    end = 0
    layer = 0
    while end < min_bytes:
        for name, shape in _LAYER.items():
            first = end
            size = _ITEM_BYTES
            for length in shape:
                size *= length
            end += size
            members[f"model.layers.{layer}.{name}.weight"] = {
                "dtype": "BF16",
                "shape": list(shape),
                "data_offsets": [first, end],
            }
        layer += 1
    header = json.dumps(members).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        # Tiles of different bytes, so that no two places in the file are alike.
        written = 0
        while written < end:
            tile = os.urandom(min(_TILE_BYTES, end - written))
            file.write(tile)
            written += len(tile)
        file.flush()
        os.fsync(file.fileno())
    return path.stat().st_size
