// The sizes of a PCI device's BARs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace isthmus::host {

/// Bytes of the largest BAR of a PCI device, whichever of the six registers it is. For a GPU that
/// is BAR1, through which the CPU reaches its memory.
///
/// address     "0000:01:00.0"
/// Returns     nothing if the kernel doesn't say.
/// Throws      UsageError if `address` isn't a PCI address.
std::optional<std::uint64_t> largest_pci_bar_bytes(std::string_view address,
                                                   const std::filesystem::path& root = "/");

}  // namespace isthmus::host
