"""What the native reader of arrays asks Python."""

from isthmus.move.arrays.array import described
from isthmus.move.arrays.members import members_of
from isthmus.move.arrays.pending_work import PendingWork
from isthmus.move.arrays.refusals import refuse, refuse_at
from isthmus.move.arrays.streams import stream_handle
from isthmus.move.arrays.versions import note_writes
from isthmus.move.arrays.ways import way_of


class Asked:
    """
    The answers, for the arrays on one driver's devices. Thread-safe.

    Attributes:
        way_of: Names the way to read the arrays of a type.
        members_of: Gives the members of a mapping or a module.
        described: Makes a Python object of what was read.
        refuse: Raises the UsageError that explains why an object can't be read.
        refuse_at: Raises a refusal again, with the array's path in front.
        note_writes: Gives what tells autograd which tensors are written.
        stream_handle: Gives the CUstream that an object means.
        export: Lets an array's library export it by DLPack.
        wait: Waits for a stream.
        own_stream: Gives a stream of a device.
    """

    def __init__(self, pending: PendingWork) -> None:
        """Answer for the devices whose pending work this is."""
        self.way_of = way_of
        self.members_of = members_of
        self.described = described
        self.refuse = refuse
        self.refuse_at = refuse_at
        self.note_writes = note_writes
        self.stream_handle = stream_handle
        self.export = pending.export
        self.wait = pending.wait
        self.own_stream = pending.own_stream
