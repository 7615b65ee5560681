#include "capi/default_windows.hpp"

#include <atomic>
#include <mutex>
#include <optional>

#include <isthmus/errors.hpp>

#include "capi/per_process.hpp"
#include "driver/driver.hpp"

namespace isthmus::capi {
namespace {

struct Connection {
  explicit Connection(const Connection* parents)
      : parent_has_connected(parents != nullptr &&
                             (parents->parent_has_connected || parents->has_begun)) {}

  const bool parent_has_connected;
  std::atomic<bool> has_begun{
      false};  ///< set before CUDA is used, so that a child forked meanwhile sees it
  std::mutex mutex;
  std::optional<Windows> windows;
};

PerProcess<Connection> connections;

}  // namespace

Windows& default_windows() {
  Connection& connection = connections.get();
  if (connection.parent_has_connected)
    throw UsageError(
        "windows can't be opened in this process: the one that it was forked from has used CUDA, "
        "which does not survive fork(); start the process with exec, or before the first window");
  const std::lock_guard lock(connection.mutex);
  if (!connection.windows) {
    connection.has_begun = true;
    try {
      connection.windows.emplace(Driver::open());
    } catch (...) {
      connection.has_begun = false;
      throw;
    }
  }
  return *connection.windows;
}

Windows* default_windows_if_any() noexcept {
  Connection& connection = connections.get();
  if (connection.parent_has_connected) return nullptr;
  const std::lock_guard lock(connection.mutex);
  return connection.windows ? &*connection.windows : nullptr;
}

}  // namespace isthmus::capi
