"""What the native module's instruments have in common: the device, and nothing opened."""

from isthmus.bench.native.device_under_test import DeviceUnderTest
from isthmus.bench.native.gpus import Gpus


class NativeInstrument:
    """Measures a device."""

    def __init__(self, device: DeviceUnderTest) -> None:
        """Open and allocate nothing yet."""
        self._device = device


class NativeGpusInstrument(NativeInstrument):
    """Measures with any of the GPUs that the device's driver shows."""

    def __init__(self, device: DeviceUnderTest) -> None:
        """Open no other GPU yet."""
        super().__init__(device)
        self._gpus = Gpus(device)
