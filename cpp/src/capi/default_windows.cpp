#include "capi/default_windows.hpp"

#include <mutex>
#include <optional>

#include "driver/driver.hpp"

namespace isthmus::capi {
namespace {

struct Connection {
  std::mutex mutex;
  std::optional<Windows> windows;
};

PerProcess<Connection> connections;

}  // namespace

Windows& default_windows() {
  Connection& connection = connections.get();
  const std::lock_guard lock(connection.mutex);
  if (!connection.windows) connection.windows.emplace(Driver::open());
  return *connection.windows;
}

Windows* default_windows_if_any() noexcept {
  Connection& connection = connections.get();
  const std::lock_guard lock(connection.mutex);
  return connection.windows ? &*connection.windows : nullptr;
}

}  // namespace isthmus::capi
