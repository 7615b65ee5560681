"""Recognises what stands where a model's file should: a pointer, a page, another format."""

from isthmus.errors import UsageError

# By a file's first bytes, in lower case.
_FORMATS = {
    b"version https://git-lfs": ("a Git LFS pointer, not the file itself", "run `git lfs pull`"),
    b"<": ("an HTML or XML page: what a server said instead of the file", "download it again"),
    b"pk\x03\x04": ("a zip archive, as torch.save writes", "load it with isthmus.load_pt"),
    b"\x80\x02": ("a pickle, as torch.save wrote before PyTorch 1.6", "load it with torch.load"),
    b"\x1f\x8b": ("compressed by gzip", "run gunzip"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", "run unzstd"),
    b"gguf": ("a GGUF file, as llama.cpp reads", "load the model's safetensors files"),
    b"\x89hdf": ("an HDF5 file", "load it with h5py"),
    b"\x93numpy": ("an array of NumPy", "load it with numpy.load"),
    b'{"': ("JSON: an error of a server, or an index", "give an index a name that ends in .json"),
}
LONGEST_SIGN = max(map(len, _FORMATS))


def refuse_other_formats(start: bytes, file: str, wanted: str = "a safetensors file") -> None:
    """
    Raise UsageError if a file that can't be read is something else that is known, by its first
    bytes, `LONGEST_SIGN` or all.
    """
    lowered = start.lstrip().lower()
    for sign, (what, advice) in _FORMATS.items():
        if lowered.startswith(sign):
            raise UsageError(f"{file}: not {wanted}, but {what}", hint=advice)
    if start[8:9] == b"{":  # after the header's length
        advice = "load it with isthmus.load_safetensors"
        raise UsageError(f"{file}: not {wanted}, but a safetensors file", hint=advice)
