#include "window/registry.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "device/stream.hpp"
#include "driver/forks.hpp"
#include "host/memory/pages.hpp"
#include "host/system/pci.hpp"
#include "window/backends/gdrdrv_abi.hpp"
#include "window/created_memory.hpp"

namespace isthmus::window {

/// A kind of device memory that programs open windows on.
struct MemoryKind {
  using Use = std::function<void(std::uintptr_t pointer, std::size_t size_bytes)>;

  std::string name;
  /// Allocates some memory, gives it to the function, and frees it.
  ///
  /// context     current on this thread
  /// Throws      what the function throws; DriverError or Unavailable if there is no such memory.
  void (*use)(const Context& context, const Use& function);
};

namespace {

constexpr std::size_t kBufferBytes = std::size_t{2} << 20U;
// Not whole pages, as arrays in pools usually are.
constexpr std::size_t kPoolBufferBytes = 400'000;

void use_malloced(const Context& context, const MemoryKind::Use& function) {
  const DeviceBuffer buffer(context, kBufferBytes);
  function(buffer.pointer(), buffer.size_bytes());
}

template <CUmemAllocationHandleType ExportedAs>
void use_created(const Context& context, const MemoryKind::Use& function) {
  const CreatedMemory memory(context, kBufferBytes, ExportedAs);
  function(memory.pointer(), memory.size_bytes());
}

/// Memory from the device's pool; freed in the order of its own stream.
class PoolBuffer {
public:
  explicit PoolBuffer(const Context& context) : stream_(context), driver_(context.driver()) {
    driver_.call(symbol::mem_alloc_async)(&pointer_, kPoolBufferBytes, stream_.handle());
  }
  ~PoolBuffer() {
    report_cleanup(driver_, driver_.raw(symbol::mem_free_async)(pointer_, stream_.handle()),
                   symbol::mem_free_async.name);
  }
  PoolBuffer(const PoolBuffer&) = delete;
  PoolBuffer& operator=(const PoolBuffer&) = delete;

  CUdeviceptr pointer() const noexcept { return pointer_; }
  void wait() const { stream_.synchronize(); }

private:
  Stream stream_;
  Driver driver_;
  CUdeviceptr pointer_ = 0;
};

void use_pool(const Context& context, const MemoryKind::Use& function) {
  if (!context.driver().has(symbol::mem_alloc_async) ||
      !context.driver().has(symbol::mem_free_async))
    throw Unavailable("memory of cudaMallocAsync", "the driver lacks cuMemAllocAsync",
                      "a driver for CUDA 11.2 or later");
  const PoolBuffer buffer(context);
  buffer.wait();
  function(buffer.pointer(), kPoolBufferBytes);
}

std::vector<MemoryKind> memory_kinds() {
  return {{"cudaMalloc", use_malloced},
          {"exportable cuMemCreate", use_created<CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR>},
          {"cuMemCreate without an exportable handle", use_created<CU_MEM_HANDLE_TYPE_NONE>},
          {"cudaMallocAsync", use_pool}};
}

constexpr std::array kOrder{WindowBackend::dmabuf, WindowBackend::gdrdrv, WindowBackend::rm};

DevicePages around(std::uintptr_t pointer, std::size_t size_bytes, std::size_t page_bytes) {
  const std::uintptr_t begin = pointer / page_bytes * page_bytes;
  const std::uintptr_t end = host::round_up(pointer + size_bytes, page_bytes);
  return {begin, end - begin};
}

std::string reasons_of(const std::vector<WindowBackendReport>& reports) {
  std::string text;
  for (const WindowBackendReport& report : reports)
    text +=
        (text.empty() ? "" : "; ") + std::string(name_of(report.backend)) + ": " + report.reason;
  return text;
}

}  // namespace

Registry::Registry(const Driver& the_driver, WindowSettings the_settings,
                   std::shared_ptr<const DeviceFiles> the_files)
    : driver(the_driver),
      settings(std::move(the_settings)),
      files(std::move(the_files)),
      process_(process_generation()) {
  watch_forks();
}

void Registry::require_own_process() const {
  isthmus::require_own_process(process_, "these Windows");
}

bool Registry::work_on(const Windows& windows, int ordinal) {
  Registry& registry = *windows.registry_;
  registry.require_own_process();
  const std::lock_guard lock(registry.mutex);
  return registry.device(ordinal).backend != nullptr;
}

std::shared_ptr<CopyThreads> Registry::threads_of(const Windows& windows) {
  return windows.registry_->copy_threads();
}

std::uint64_t Registry::limit_of(int ordinal) const {
  if (settings.bar1_limit_bytes != 0) return settings.bar1_limit_bytes;
  const auto bar1_bytes =
      driver.emulated()
          ? std::nullopt
          : host::largest_pci_bar_bytes(read_device_facts(driver, ordinal).pci_address);
  return bar1_bytes.value_or(0) / 2;
}

DeviceWindows& Registry::device(int ordinal) {
  const auto known = devices_.find(ordinal);
  if (known != devices_.end()) return known->second;
  return devices_.try_emplace(ordinal, limit_of(ordinal)).first->second;
}

std::unique_ptr<Backend> Registry::open_backend(WindowBackend kind) {
  if (kind == WindowBackend::dmabuf) return open_dmabuf_backend(driver);
  if (files == nullptr)
    throw Unavailable(std::string(name_of(kind)) + " windows",
                      "the emulated driver has no device files", "a real GPU");
  if (kind == WindowBackend::gdrdrv) return open_gdrdrv_backend(driver, files);
  return open_rm_backend(driver, files, settings.backend == name_of(WindowBackend::rm));
}

Backend& Registry::backend(WindowBackend kind) {
  auto& backend = backends_[kind];
  if (backend == nullptr) {
    const ScopedForkDelay no_forks;
    backend = open_backend(kind);
  }
  return *backend;
}

WindowBackendReport Registry::try_backend(DeviceWindows& device, WindowBackend kind) {
  try {
    Backend& tried = backend(kind);
    device.self_test->qualify(tried, device.budget);
    return {kind, true, tried.description()};
  } catch (const Unavailable& refusal) {
    return {kind, false, refusal.reason()};
  }
}

std::string Registry::what_would_help() const {
  const std::string drivers =
      "a driver for CUDA 13.3, GDRCopy's gdrdrv module, or a driver that rm windows were tested "
      "with";
  if (!settings.backend.empty())
    return "another backend than " + settings.backend + ", or none chosen";
  return settings.bar1_limit_bytes != 0 ? drivers + "; and BAR1 enough for a page" : drivers;
}

Context Registry::context_of(DeviceWindows& device, int ordinal) {
  if (!device.context) device.context = Context::retain(driver, ordinal);
  if (device.self_test == nullptr) {
    const CurrentContext current(*device.context);
    device.self_test = std::make_unique<SelfTest>(*device.context);
  }
  return *device.context;
}

Context Registry::choose_backend(DeviceWindows& device, int ordinal) {
  if (device.context && device.backend != nullptr) return *device.context;
  if (settings.backend == "off")
    throw Unavailable("windows", "they are turned off (ISTHMUS_WINDOW=off, or by the program)",
                      "ISTHMUS_WINDOW unset");
  const Context context = context_of(device, ordinal);
  const CurrentContext current(context);
  // Tries again at each open() until a backend works: the cause may pass (descriptors, BAR1, a
  // module).
  std::vector<WindowBackendReport> reports;
  for (const WindowBackend kind : kOrder) {
    if (!settings.backend.empty() && settings.backend != name_of(kind)) continue;
    reports.push_back(try_backend(device, kind));
    if (reports.back().usable) break;
  }
  if (!reports.back().usable)
    throw Unavailable("windows on GPU " + std::to_string(ordinal), reasons_of(reports),
                      what_would_help());
  device.backend = &backend(reports.back().backend);
  if (std::string notice = device.backend->notice(); !notice.empty())
    notices.push_back(std::move(notice));
  return context;
}

std::vector<WindowBackendReport> Registry::reports(int ordinal) {
  require_own_process();
  const std::lock_guard lock(mutex);
  const ScopedRelaxedCapture relaxed(driver);  // opening is not part of a capture
  DeviceWindows& one = device(ordinal);
  const CurrentContext current(context_of(one, ordinal));
  std::vector<WindowBackendReport> reports;
  reports.reserve(kOrder.size());
  for (const WindowBackend kind : kOrder) reports.push_back(try_backend(one, kind));
  return reports;
}

WindowMemoryReport Registry::try_memory(DeviceWindows& device, const Context& context,
                                        const MemoryKind& kind) const {
  try {
    std::string found;
    kind.use(context, [&](std::uintptr_t pointer, std::size_t size_bytes) {
      const Mapping mapping(context, *device.backend, device.budget,
                            allocations_of(driver, pointer, size_bytes),
                            around(pointer, size_bytes, WindowOptions{}.page_bytes));
      device.self_test->compare(mapping, pointer, size_bytes);
      found = "found by " + std::string(window::name_of(mapping.found_by()));
    });
    return {kind.name, true, found};
  } catch (const Unavailable& refusal) {
    return {kind.name, false, refusal.reason()};
  } catch (const DriverError& error) {
    return {kind.name, false, error.what()};
  }
}

std::vector<WindowMemoryReport> Registry::memory_reports(int ordinal) {
  require_own_process();
  const std::lock_guard lock(mutex);
  const ScopedRelaxedCapture relaxed(driver);  // opening is not part of a capture
  DeviceWindows& one = device(ordinal);
  const Context context = choose_backend(one, ordinal);
  const CurrentContext current(context);
  std::vector<WindowMemoryReport> reports;
  for (const MemoryKind& kind : memory_kinds()) reports.push_back(try_memory(one, context, kind));
  return reports;
}

std::shared_ptr<CopyThreads> Registry::copy_threads() {
  const std::lock_guard lock(mutex);
  std::shared_ptr<CopyThreads> threads = threads_.lock();
  if (threads == nullptr) threads_ = threads = std::make_shared<CopyThreads>();
  return threads;
}

std::shared_ptr<const Mapping> Registry::mapping_of(std::uintptr_t pointer, std::size_t size_bytes,
                                                    std::size_t page_bytes) {
  require_own_process();
  const AnyContext any(driver);
  const DevicePages pages = around(pointer, size_bytes, page_bytes);
  const DevicePages range{pointer, size_bytes};
  const std::uint64_t buffer_id = buffer_id_at(driver, pointer);
  if (auto open = buffer_id != 0 ? open_.find(buffer_id, range, pages) : nullptr) return open;
  const std::lock_guard lock(mutex);
  if (auto open = buffer_id != 0 ? open_.find(buffer_id, range, pages) : nullptr) return open;
  return make_mapping(pointer, size_bytes, page_bytes);
}

std::shared_ptr<const Mapping> Registry::make_mapping(std::uintptr_t pointer,
                                                      std::size_t size_bytes,
                                                      std::size_t page_bytes) {
  const ScopedRelaxedCapture relaxed(driver);  // opening is not part of a capture
  std::vector<Allocation> allocations = allocations_of(driver, pointer, size_bytes);
  for (const Allocation& allocation : allocations) set_sync_memops(driver, allocation);
  // Adjacent pieces must begin at GPU pages: gdrdrv requires it.
  if (allocations.size() > 1) page_bytes = std::max(page_bytes, gdrdrv::kGpuPageBytes);
  const int ordinal = allocations.front().device;
  DeviceWindows& one = device(ordinal);
  const Context context = choose_backend(one, ordinal);
  const CurrentContext current(context);
  auto mapping =
      std::make_shared<Mapping>(context, *one.backend, one.budget, std::move(allocations),
                                around(pointer, size_bytes, page_bytes));
  one.self_test->compare(*mapping, pointer, size_bytes);
  mapping->count_in(totals);
  open_.add(mapping);
  return mapping;
}

}  // namespace isthmus::window
