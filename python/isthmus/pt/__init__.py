"""
Loads the files of `torch.save` into GPU memory.

`archive.py` finds the entries of the file, which is a zip archive; `pickles.py` reads the pickle in
it, which names the tensors, and refuses everything but these and plain containers; `storages.py`
decides where the tensors' memory lies; `loading.py` combines them. PyTorch isn't needed.
"""
