"""The machine that a profile is of, as the native module sees it."""

from typing import TYPE_CHECKING

from isthmus.decide.profile.model import MachineIdentity

if TYPE_CHECKING:
    from isthmus import _native


def machine_of(identity: "_native.ProfileIdentity") -> MachineIdentity:
    """Describe the machine that the native module sees."""
    return MachineIdentity(
        emulated=identity.emulated,
        gpu_uuid=identity.gpu_uuid,
        gpu_name=identity.gpu_name,
        link=identity.link,
        cuda_version=identity.cuda_version,
        driver_release=identity.driver_release or None,
        cpu_model=identity.cpu_model or None,
        num_cores=identity.num_cores,
    )
