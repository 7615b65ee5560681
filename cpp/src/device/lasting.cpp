#include "device/lasting.hpp"

#include <atomic>
#include <new>

namespace isthmus {
namespace {

// Never destroyed: destructors of statics may still add to it. Without a lock, because a forked
// child adds what it has of its parent, one of whose threads may have held it.
struct Lasting {
  const void* object;
  Lasting* next;
};
std::atomic<Lasting*> last{nullptr};

}  // namespace

void note_lasting(const void* object) noexcept {
  auto* const noted = new (std::nothrow) Lasting{object, last.load()};
  if (noted == nullptr) return;  // it lasts without a note
  while (!last.compare_exchange_weak(noted->next, noted)) {
  }
}

}  // namespace isthmus
