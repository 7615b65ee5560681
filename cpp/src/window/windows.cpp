#include <cstdlib>
#include <limits>

#include <isthmus/errors.hpp>
#include <isthmus/window.hpp>

#include "driver/environment.hpp"
#include "window/registry.hpp"

namespace isthmus {
namespace {

constexpr std::size_t kMaxPageBytes = std::size_t{2} << 20U;
constexpr std::uintptr_t kLastAddress = std::numeric_limits<std::uintptr_t>::max();

std::uint64_t bar1_limit_from(const std::string& mebibytes) {
  if (mebibytes.empty()) return 0;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(mebibytes.c_str(), &end, 10);
  const bool number = mebibytes.find_first_not_of("0123456789") == std::string::npos;
  if (!number || *end != '\0' || value == 0 || value > (std::uint64_t{1} << 40U))
    throw UsageError("ISTHMUS_WINDOW_BAR1_MIB is '" + mebibytes +
                     "'; it must be a whole number of MiB above 0");
  return value << 20U;
}

void check_backend_name(const std::string& name, const std::string& where) {
  for (const char* const known : {"", "off", "dmabuf", "gdrdrv", "rm"})
    if (name == known) return;
  throw UsageError(where + " is '" + name + "'; it must be off, dmabuf, gdrdrv, rm, or empty");
}

void check_options(const WindowOptions& options) {
  if (options.num_threads < 1)
    throw UsageError("a window of " + std::to_string(options.num_threads) +
                     " threads was asked for; there must be at least 1");
  if (options.page_bytes < 4096 || options.page_bytes > kMaxPageBytes ||
      (options.page_bytes & (options.page_bytes - 1)) != 0)
    throw UsageError("a window with pages of " + std::to_string(options.page_bytes) +
                     " bytes was asked for; it must be a power of two from 4096 to 2 MiB");
}

}  // namespace

std::string_view name_of(WindowBackend backend) noexcept {
  switch (backend) {
    case WindowBackend::dmabuf:
      return "dmabuf";
    case WindowBackend::gdrdrv:
      return "gdrdrv";
    case WindowBackend::rm:
      return "rm";
  }
  return "unknown";
}

WindowSettings WindowSettings::from_environment() {
  WindowSettings settings;
  settings.backend = environment("ISTHMUS_WINDOW").value_or("");
  check_backend_name(settings.backend, "ISTHMUS_WINDOW");
  settings.bar1_limit_bytes = bar1_limit_from(environment("ISTHMUS_WINDOW_BAR1_MIB").value_or(""));
  return settings;
}

// The emulated driver's pointers mean nothing to a real GPU's device files, which may also exist.
Windows::Windows(const Driver& driver, WindowSettings settings)
    : Windows(
          window::Registry::windows(driver, std::move(settings),
                                    driver.emulated() ? nullptr : window::system_device_files())) {}

Windows::Windows(std::shared_ptr<window::Registry> registry) : registry_(std::move(registry)) {}

Windows window::Registry::windows(const Driver& driver, WindowSettings settings,
                                  std::shared_ptr<const DeviceFiles> files) {
  check_backend_name(settings.backend, "the backend of windows");
  return Windows(std::make_shared<Registry>(driver, std::move(settings), std::move(files)));
}

Window Windows::open(std::uintptr_t pointer, std::size_t size_bytes, const WindowOptions& options) {
  check_options(options);
  // Checked here because a shared mapping is not checked again.
  if (size_bytes == 0) throw UsageError("a window must have at least one byte; 0 were asked for");
  // Also prevents that rounding to pages exceeds the address space.
  if (size_bytes > kLastAddress - options.page_bytes ||
      pointer > kLastAddress - options.page_bytes - size_bytes)
    throw UsageError("a window of " + std::to_string(size_bytes) +
                     " bytes there reaches past the end of all addresses");
  auto mapping = registry_->mapping_of(pointer, size_bytes, options.page_bytes);
  auto threads = options.num_threads > 1 ? registry_->copy_threads() : nullptr;
  if (threads != nullptr) threads->start(options.num_threads);
  return {std::move(mapping), std::move(threads), pointer, size_bytes, options};
}

std::vector<WindowBackendReport> Windows::backends(int device) {
  return registry_->reports(device);
}

std::vector<WindowMemoryReport> Windows::memory_kinds(int device) {
  return registry_->memory_reports(device);
}

std::uint64_t Windows::mapped_bytes(int device) const {
  registry_->require_own_process();  // In a child the lock may be held for ever.
  const std::lock_guard lock(registry_->mutex);
  return registry_->device(device).budget->used_bytes();
}

std::uint64_t Windows::bar1_limit_bytes(int device) const {
  registry_->require_own_process();
  const std::lock_guard lock(registry_->mutex);
  return registry_->device(device).budget->limit_bytes();
}

std::vector<std::string> Windows::take_notices() {
  registry_->require_own_process();
  const std::lock_guard lock(registry_->mutex);
  return std::exchange(registry_->notices, {});
}

WindowCosts Windows::costs() const {
  registry_->require_own_process();
  return registry_->totals->costs();
}

const Driver& Windows::driver() const noexcept { return registry_->driver; }

}  // namespace isthmus
