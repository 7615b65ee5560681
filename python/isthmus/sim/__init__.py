"""Simulates page migration on machines that you don't have. All its numbers are modelled."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from isthmus.sim.trace.writing import TraceWriter, seal_trace

__all__ = ["TraceWriter", "seal_trace"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a public name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module 'isthmus.sim' has no attribute {name!r}")
        from isthmus.sim.trace import writing

        return getattr(writing, name)
