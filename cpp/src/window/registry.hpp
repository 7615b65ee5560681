// What copies of one Windows share: backends, open mappings, limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <isthmus/window.hpp>

#include "device/context.hpp"
#include "window/backends/device_files.hpp"
#include "window/copies/copy_threads.hpp"
#include "window/mapping.hpp"
#include "window/self_test.hpp"

namespace isthmus::window {

struct MemoryKind;

/// The mappings that open windows use, by the id of their first buffer.
class OpenMappings {
public:
  /// A mapping that begins in the buffer with that id, covers `pages`, and whose buffers contain
  /// `range`.
  std::shared_ptr<const Mapping> find(std::uint64_t first_buffer_id, DevicePages range,
                                      DevicePages pages);
  void add(const std::shared_ptr<const Mapping>& mapping);

private:
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::weak_ptr<const Mapping>> mappings_;
};

/// One device: its limit and, once needed, its context, backend and self-test.
struct DeviceWindows {
  explicit DeviceWindows(std::uint64_t limit_bytes)
      : budget(std::make_shared<Bar1Budget>(limit_bytes)) {}

  std::shared_ptr<Bar1Budget> budget;
  std::optional<Context> context;
  std::unique_ptr<SelfTest> self_test;
  Backend* backend = nullptr;  ///< the one that passed the test; owned by the registry
};

/// Makes windows. May be used from any thread; in a forked child every call throws UsageError.
struct Registry : std::enable_shared_from_this<Registry> {
  Registry(const Driver& the_driver, WindowSettings the_settings,
           std::shared_ptr<const DeviceFiles> the_files);

  /// Windows that access GPUs through `files`, which tests replace; null: there are no device
  /// files.
  ///
  /// Throws   UsageError if no backend has the name in `settings`.
  static Windows windows(const Driver& driver, WindowSettings settings,
                         std::shared_ptr<const DeviceFiles> files);

  /// True if a backend works on the device: what `windows` refuse there is refused for the memory's
  /// sake, or for lack of BAR1. Never tries a backend.
  static bool work_on(const Windows& windows, int device);

  /// The threads that help copies through windows.
  static std::shared_ptr<CopyThreads> threads_of(const Windows& windows);

  std::shared_ptr<const Mapping> mapping_of(std::uintptr_t pointer, std::size_t size_bytes,
                                            std::size_t page_bytes);
  std::shared_ptr<CopyThreads> copy_threads();
  std::vector<WindowBackendReport> reports(int device);
  std::vector<WindowMemoryReport> memory_reports(int device);
  DeviceWindows& device(int ordinal);
  void require_own_process() const;

  Driver driver;
  WindowSettings settings;
  std::shared_ptr<const DeviceFiles> files;
  std::vector<std::string> notices;
  std::mutex mutex;  ///< for everything but `open_` and `totals`
  const std::shared_ptr<StepTotals> totals = std::make_shared<StepTotals>();

private:
  std::shared_ptr<const Mapping> make_mapping(std::uintptr_t pointer, std::size_t size_bytes,
                                              std::size_t page_bytes);
  /// The device's context, retained; creates its self-test if needed.
  Context context_of(DeviceWindows& device, int ordinal);
  /// Returns the device's context; afterwards its backend and self-test exist.
  Context choose_backend(DeviceWindows& device, int ordinal);
  WindowBackendReport try_backend(DeviceWindows& device, WindowBackend kind);
  WindowMemoryReport try_memory(DeviceWindows& device, const Context& context,
                                const MemoryKind& kind) const;
  Backend& backend(WindowBackend kind);
  std::unique_ptr<Backend> open_backend(WindowBackend kind);
  std::uint64_t limit_of(int ordinal) const;
  std::string what_would_help() const;

  std::uint64_t process_;
  OpenMappings open_;
  std::map<int, DeviceWindows> devices_;
  std::map<WindowBackend, std::unique_ptr<Backend>> backends_;
  std::weak_ptr<CopyThreads> threads_;
};

}  // namespace isthmus::window
