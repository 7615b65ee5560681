#include "paged/host_registration.hpp"

#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "device/pointer_facts.hpp"
#include "host/memory/pages.hpp"

namespace isthmus {
namespace {

using host::Pages;

/// Pages that were registered here, and how many registrations use them.
class RegisteredPages {
public:
  /// Gives where the registered pages begin that have all of `pages`. They are registered if they
  /// aren't yet; then the context is current.
  ///
  /// result      of the driver; the pages are nobody's unless it is CUDA_SUCCESS
  void* acquire(const Driver& driver, const Pages& pages, CUresult& result) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = covering(driver, pages); found != used_.end()) {
      found->second.num_users++;
      result = CUDA_SUCCESS;
      return reinterpret_cast<void*>(found->first.begin);
    }
    void* const first = pages.data();
    // Before the pages are registered: there may be no memory for it.
    const auto [use, is_new] = used_.try_emplace(place_of(driver, pages.first), Use{pages.end, 1});
    if (!is_new) {  // a shorter registration, which the driver doesn't extend
      result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
      return first;
    }
    result = driver.raw(symbol::mem_host_register)(
        first, pages.size_bytes(), CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS) used_.erase(use);
    return first;
  }

  bool has(const Driver& driver, const Pages& pages) {
    const std::scoped_lock lock(mutex_);
    return covering(driver, pages) != used_.end();
  }

  /// Unregisters pages that nobody uses any more, in the current context.
  CUresult release(const Driver& driver, void* first) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto found = used_.find(place_of(driver, reinterpret_cast<std::uintptr_t>(first)));
    if (found == used_.end() || --found->second.num_users > 0) return CUDA_SUCCESS;
    used_.erase(found);
    const auto unregister = driver.raw(symbol::mem_host_unregister);
    const CUresult result = unregister(first);
    // Once more: pages that stay registered couldn't be registered again by their next owner.
    return result == CUDA_SUCCESS ? result : unregister(first);
  }

private:
  /// Each driver of the process has registrations of its own; its function tells which one it is.
  struct Place {
    std::uintptr_t driver;
    std::uintptr_t begin;
    auto operator<=>(const Place&) const = default;
  };
  struct Use {
    std::uintptr_t end = 0;
    std::size_t num_users = 0;
  };
  using Uses = std::map<Place, Use>;

  static Place place_of(const Driver& driver, std::uintptr_t begin) {
    return {reinterpret_cast<std::uintptr_t>(driver.raw(symbol::mem_host_register)), begin};
  }

  Uses::iterator covering(const Driver& driver, const Pages& pages) {
    const Place place = place_of(driver, pages.first);
    const auto after = used_.upper_bound(place);
    if (after == used_.begin()) return used_.end();
    const auto before = std::prev(after);
    const bool covers = before->first.driver == place.driver && before->second.end >= pages.end;
    return covers ? before : used_.end();
  }

  std::mutex mutex_;
  Uses used_;
};

/// Of the process: never destroyed, because arrays may end after static objects.
RegisteredPages& registered_pages() {
  static auto* const pages = new RegisteredPages;
  return *pages;
}

/// Whether each page is pinned. One registration is known by its number; of several, and of memory
/// without a number, each page is asked about: kernels reach all of them, while a copy can find out.
bool is_pinned_throughout(const Driver& driver, const void* memory, std::size_t size_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  const auto pinned = [](const PointerFacts& facts) {
    return facts.memory_type == CU_MEMORYTYPE_HOST && facts.managed == 0;
  };
  const PointerFacts begin = pointer_facts(driver, first);
  const PointerFacts end = pointer_facts(driver, first + size_bytes - 1);
  if (!pinned(begin) || !pinned(end)) return false;
  if (begin.buffer_id != 0 && begin.buffer_id == end.buffer_id) return true;
  const Pages pages(memory, size_bytes);
  for (std::uintptr_t page = pages.first + host::page_bytes(); page < pages.end;
       page += host::page_bytes())
    if (!pinned(pointer_facts(driver, page))) return false;
  return true;
}

constexpr const char* kNeeds =
    "an array of isthmus.pinned.empty(), which is pinned already; or memory that this process may "
    "write, none of whose pages another library, or a paged array of other memory, has pinned";

}  // namespace

HostRegistration::HostRegistration(const Context& context, void* memory, std::size_t size_bytes,
                                   bool read_only)
    : context_(context) {
  const Driver& driver = context_.driver();
  const CurrentContext current(context_);
  const ScopedRelaxedCapture relaxed(driver);  // pinning is not part of any capture
  const Pages pages(memory, size_bytes);
  if (registered_pages().has(driver, pages) || !is_pinned_throughout(driver, memory, size_bytes)) {
    CUresult result = CUDA_SUCCESS;
    void* const first = registered_pages().acquire(driver, pages, result);
    if (result != CUDA_SUCCESS)
      throw Unavailable("host memory that the GPU can read",
                        "cuMemHostRegister of " + std::to_string(pages.size_bytes()) + " bytes: " +
                            driver.name_of(result) + (read_only ? " (the array is read-only)" : ""),
                        kNeeds);
    pages_ = first;
  }
  const CUresult found =
      driver.raw(symbol::mem_host_get_device_pointer)(&device_pointer_, memory, 0U);
  if (found == CUDA_SUCCESS) return;
  if (pages_ != nullptr) registered_pages().release(driver, pages_);
  driver.check(found, symbol::mem_host_get_device_pointer.name);
}

HostRegistration::~HostRegistration() {
  if (pages_ == nullptr || !context_.in_own_process()) return;
  const Driver& driver = context_.driver();
  const ScopedRelaxedCapture relaxed(driver);
  const auto push = driver.raw(symbol::ctx_push_current);
  CUresult pushed = push(context_.handle());
  if (pushed != CUDA_SUCCESS) pushed = push(context_.handle());
  report_cleanup(driver, pushed, symbol::ctx_push_current.name);
  report_cleanup(driver, registered_pages().release(driver, pages_),
                 symbol::mem_host_unregister.name);
  CUcontext popped = nullptr;
  if (pushed == CUDA_SUCCESS) driver.raw(symbol::ctx_pop_current)(&popped);
}

}  // namespace isthmus
