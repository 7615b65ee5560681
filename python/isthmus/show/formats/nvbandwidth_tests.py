"""The tests that nvbandwidth has: names, numbers and descriptions of its versions 0.8 to 0.10."""

# A test's number is its place in this list: `-t 0`. Later versions number differently.
NVBANDWIDTH_TESTS = (
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "host_to_device_bidirectional_memcpy_ce",
    "device_to_host_bidirectional_memcpy_ce",
    "device_to_device_memcpy_read_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_read_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
    "all_to_host_memcpy_ce",
    "all_to_host_bidirectional_memcpy_ce",
    "host_to_all_memcpy_ce",
    "host_to_all_bidirectional_memcpy_ce",
    "all_to_one_write_ce",
    "all_to_one_read_ce",
    "one_to_all_write_ce",
    "one_to_all_read_ce",
    "host_to_device_memcpy_sm",
    "device_to_host_memcpy_sm",
    "host_to_device_bidirectional_memcpy_sm",
    "device_to_host_bidirectional_memcpy_sm",
    "device_to_device_memcpy_read_sm",
    "device_to_device_memcpy_write_sm",
    "device_to_device_bidirectional_memcpy_read_sm",
    "device_to_device_bidirectional_memcpy_write_sm",
    "all_to_host_memcpy_sm",
    "all_to_host_bidirectional_memcpy_sm",
    "host_to_all_memcpy_sm",
    "host_to_all_bidirectional_memcpy_sm",
    "all_to_one_write_sm",
    "all_to_one_read_sm",
    "one_to_all_write_sm",
    "one_to_all_read_sm",
    "host_device_latency_sm",
    "device_to_device_latency_sm",
)
LATENCIES = frozenset({"host_device_latency_sm", "device_to_device_latency_sm"})
# The default of its -b, in MiB.
DEFAULT_BUFFER_MIB = 512
_FORWARD, _BACK, _BOTH = "->", "<-", "<->"
_TOWARDS_ROW = ("device_to_host", "all_to_host")
_TOWARDS_COLUMN = ("host_to_device", "host_to_all")


def description(test: str) -> str:
    """Give the line above a test's matrix, which identifies it."""
    if test == "host_device_latency_sm":
        return "memory latency SM CPU(row) <-> GPU(column) (ns)"
    if test == "device_to_device_latency_sm":
        return "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)"
    engine = test.rpartition("_")[2].upper()
    row = "CPU" if "host" in test else "GPU"
    total = " Total" if "bidirectional" in test and row == "GPU" else ""
    return f"memcpy {engine} {row}(row) {_arrow(test)} GPU(column){total} bandwidth (GB/s)"


def listing_text(names: dict[str, str]) -> str:
    """List tests as nvbandwidth does: number and name, and a description below."""
    lines = ["Index, Name:", "\tDescription", "======================="]
    for index, name in enumerate(NVBANDWIDTH_TESTS):
        if name in names:
            lines += [f"{index}, {name}:", f"\t{names[name]}", ""]
    return "\n".join(lines) + "\n"


def _arrow(test: str) -> str:
    if "bidirectional" in test:
        return _BOTH
    if test.startswith(_TOWARDS_COLUMN):
        return _FORWARD
    if test.startswith(_TOWARDS_ROW):
        return _BACK
    reads = "_read_" in test
    return _FORWARD if reads != test.startswith("one_to_all") else _BACK
