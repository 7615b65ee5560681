"""
Loads safetensors files into GPU memory.

`header.py` reads and checks a file's header; `shards.py` finds the files of a model; `layout.py`
decides where tensors lie; `frameworks.py` makes the memory and the tensors in it, of PyTorch, CuPy
or neither; `loading.py` puts them together.
"""
