"""
Loads safetensors files into GPU memory.

`header.py` reads and checks a file's header; `layout.py` decides where tensors are placed;
`frameworks.py` allocates the memory and creates the tensors, with PyTorch, CuPy or neither;
`loading.py` finds the files of a model and combines these.
"""
