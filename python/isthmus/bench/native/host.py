"""The native module's measurements of copies within host memory."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isthmus.bench.native.instrument import NativeInstrument
from isthmus.bench.native.rule import native_rule
from isthmus.bench.native.wall_time import COPIES, within_wall_time
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.bench_test import Variation
from isthmus.bench.tests.host import FROM_NODE, TO_NODE, HostCopyTest
from isthmus.errors import Unavailable
from isthmus.machine.placement import Placement, stray_pages_note

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.bench.session import Measurement


class NativeHostCopies(NativeInstrument):
    """Copies within host memory, without a device."""

    def measure(
        self, test: HostCopyTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "Measurement":
        """
        Measure one way to copy at one size.

        Raises:
            Unavailable: This process may use no CPU of the node that reads, or the pages are
                elsewhere.
            ImpossibleTime: The clock is wrong.
        """
        from isthmus import _native

        axes, placement = dict(variation.axes), self._device.placement
        source, target = _nodes(placement, axes)
        threads = _threads(placement, variation.num_threads, source if FROM_NODE in axes else None)
        source_pages: dict[int, int] = {}

        def measure() -> "_native.Measurement":
            found, pages = _native.measure_host_memcpy(
                stores=test.stores,
                size_bytes=size_bytes,
                num_threads=threads,
                source_node=source,
                target_node=target,
                stopping=native_rule(stopping),
            )
            source_pages.update(pages)
            return found

        found = within_wall_time(measure, stopping, sampled=COPIES)
        for pages, node in ((source_pages, source), (found.host_pages_by_node, target)):
            self._check_pages(pages, node, required=FROM_NODE in axes)
        return found

    def _check_pages(self, pages: Mapping[int, int], node: int | None, *, required: bool) -> None:
        """Refuse pages on another node if a test is about the node; otherwise add a note."""
        note = stray_pages_note(pages, node, "host")
        if note is None:
            return
        if required:
            raise Unavailable(
                capability=f"memory of NUMA node {node}", reason=note, needs="room on that node"
            )
        self._device.note_once(note)


def _nodes(placement: Placement, axes: Mapping[str, object]) -> tuple[int | None, int | None]:
    if FROM_NODE not in axes:
        return placement.bound_node, placement.bound_node
    if len(placement.nodes) <= 1:  # nothing to bind to, and nothing to miss
        return None, None
    return int(str(axes[FROM_NODE])), int(str(axes[TO_NODE]))


def _threads(placement: Placement, num_threads: int, node: int | None) -> int:
    """The requested number of threads, but at most the node's CPUs that may be used."""
    if node is None:
        return num_threads
    allowed = set(placement.cpus)
    usable = next((allowed & set(n.cpus) for n in placement.nodes if n.node == node), set[int]())
    if not usable:
        raise Unavailable(
            capability=f"NUMA node {node}",
            reason="this process may use none of its CPUs",
            needs="a CPU of that node",
        )
    return min(num_threads, len(usable))
