"""What the native reader of arrays asks Python."""

from isthmus.arrays.array import described
from isthmus.arrays.members import members_of
from isthmus.arrays.pending_work import PendingWork
from isthmus.arrays.refusals import refuse, refuse_at
from isthmus.arrays.streams import stream_handle
from isthmus.arrays.versions import note_writes
from isthmus.arrays.ways import way_of


class Asked:
    """The answers, for the arrays on one driver's devices. Thread-safe."""

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
