"""What the instruments over the native module have in common: the session, and nothing opened."""

from typing import TYPE_CHECKING

from isthmus.bench.gpus import Gpus

if TYPE_CHECKING:
    from isthmus.bench.native_session import NativeSession


class NativeInstrument:
    """Measures in a session."""

    def __init__(self, session: "NativeSession") -> None:
        """
        Open and allocate nothing yet.

        Args:
            session: Where everything is measured.
        """
        self._session = session


class NativeGpusInstrument(NativeInstrument):
    """Measures in a session, with any of its driver's GPUs."""

    def __init__(self, session: "NativeSession") -> None:
        """
        Open no other GPU yet.

        Args:
            session: Whose driver shows the GPUs.
        """
        super().__init__(session)
        self._gpus = Gpus(session)
