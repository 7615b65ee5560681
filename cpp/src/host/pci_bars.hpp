// How large the memory windows of a PCI device are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace isthmus::host {

/// Bytes of the largest memory window of a PCI device: of a GPU that is BAR1, where the CPU sees
/// its memory, whichever of the six registers it is in.
///
/// address     "0000:01:00.0"
/// Returns     nothing if the kernel doesn't say.
/// Throws      UsageError if `address` isn't a PCI address.
std::optional<std::uint64_t> largest_pci_bar_bytes(std::string_view address,
                                                   const std::filesystem::path& root = "/");

}  // namespace isthmus::host
