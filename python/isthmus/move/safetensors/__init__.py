"""
Loads safetensors files into GPU memory.

`header.py` reads and checks a file's header; `shards.py` finds the files of a model; `layout.py`
decides where tensors are placed; `frameworks.py` allocates the memory and creates the tensors, with
PyTorch, CuPy or neither; `loading.py` combines them.
"""
