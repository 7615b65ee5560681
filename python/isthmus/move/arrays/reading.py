"""What the native reader of arrays asks Python."""

from isthmus.move.arrays.array import described
from isthmus.move.arrays.members import members_of
from isthmus.move.arrays.pending_work import PendingWork
from isthmus.move.arrays.refusals import refuse, refuse_at
from isthmus.move.arrays.streams import stream_handle
from isthmus.move.arrays.versions import note_writes
from isthmus.move.arrays.ways import way_of


class Answers:
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
