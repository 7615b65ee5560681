"""What Dask calls in each worker on this machine, also in one that it starts again."""

import signal


def dask_setup(_worker: object) -> None:
    """
    Ignore Ctrl-C.

    A terminal interrupts all of its processes. It is the collector that ends the workers, and each
    would print a traceback before.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
