#include "device/lasting.hpp"

#include <exception>
#include <mutex>
#include <vector>

namespace isthmus {
namespace {

// Never destroyed: destructors of statics may still add to it.
struct Lasting {
  std::mutex mutex;
  std::vector<const void*> objects;
};

Lasting& lasting() {
  static auto* const all = new Lasting;
  return *all;
}

}  // namespace

void note_lasting(const void* object) noexcept {
  try {
    Lasting& all = lasting();
    const std::lock_guard lock(all.mutex);
    all.objects.push_back(object);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it lasts without a note
  }
}

}  // namespace isthmus
