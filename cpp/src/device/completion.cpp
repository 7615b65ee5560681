#include "device/completion.hpp"

#include <exception>

#include "device/capture.hpp"

namespace isthmus {

void Completion::mark(CUstream stream) const {
  const CurrentContext current(event_.context());
  event_.record(stream);
}

bool Completion::reached() const {
  const CurrentContext current(event_.context());
  const ScopedRelaxedCapture relaxed(event_.context().driver());
  return event_.complete();
}

Completion::State Completion::state() const noexcept {
  try {
    return reached() ? State::reached : State::under_way;
  } catch (const std::exception&) {
    return State::unknown;
  }
}

void Completion::wait() const {
  const CurrentContext current(event_.context());
  const ScopedRelaxedCapture relaxed(event_.context().driver());
  event_.synchronize();
}

void Completion::delay(CUstream stream) const {
  const CurrentContext current(event_.context());
  event_.context().driver().call(symbol::stream_wait_event)(stream, event_.handle(), 0U);
}

}  // namespace isthmus
