#include "window/backend.hpp"

namespace isthmus::window {

std::string_view name_of(FoundBy found_by) noexcept {
  switch (found_by) {
    case FoundBy::address_range:
      return "its addresses (cuMemGetHandleForAddressRange)";
    case FoundBy::pinned_pages:
      return "its addresses (PIN_BUFFER)";
    case FoundBy::ipc_handle:
      return "its IPC handle (cuIpcGetMemHandle)";
    case FoundBy::descriptor:
      return "its descriptor (cuMemExportToShareableHandle)";
    case FoundBy::record:
      return "the driver's record of it (cuMemRetainAllocationHandle)";
  }
  return "unknown";
}

}  // namespace isthmus::window
