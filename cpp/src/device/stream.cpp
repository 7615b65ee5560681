#include "device/stream.hpp"

#include <exception>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"

namespace isthmus {
namespace {

Owned<CUstream> make_stream(const Context& context, Stream::Kind kind) {
  const CurrentContext current(context);
  const unsigned flags =
      kind == Stream::Kind::blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  CUstream stream = nullptr;
  const Driver& driver = context.driver();
  driver.call(symbol::stream_create)(&stream, flags);
  return {context, stream, driver.raw(symbol::stream_destroy), symbol::stream_destroy.name};
}

Owned<CUevent> make_event(const Context& context, Event::Timing timing) {
  const CurrentContext current(context);
  const unsigned flags =
      timing == Event::Timing::enabled ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  CUevent event = nullptr;
  const Driver& driver = context.driver();
  driver.call(symbol::event_create)(&event, flags);
  return {context, event, driver.raw(symbol::event_destroy), symbol::event_destroy.name};
}

bool complete_or_throw(const Driver& driver, CUresult result, std::string_view name) {
  if (result == CUDA_ERROR_NOT_READY) return false;
  driver.check(result, name);
  return true;
}

[[noreturn]] void throw_unusable_times(float milliseconds) {
  throw Unavailable("GPU event times",
                    "an event came " + std::to_string(milliseconds) +
                        " ms after the one recorded before it, as happens with confidential "
                        "computing",
                    "a GPU whose event clock can be trusted");
}

}  // namespace

Stream::Stream(const Context& context, Kind kind) : owned_(make_stream(context, kind)) {}

void Stream::synchronize() const { context().driver().call(symbol::stream_synchronize)(handle()); }

bool Stream::idle() const {
  const Driver& driver = context().driver();
  return complete_or_throw(driver, driver.raw(symbol::stream_query)(handle()),
                           symbol::stream_query.name);
}

void Stream::wait(const Event& event) const {
  context().driver().call(symbol::stream_wait_event)(handle(), event.handle(), 0U);
}

Event::Event(const Context& context, Timing timing) : owned_(make_event(context, timing)) {}

void Event::record(CUstream stream) const {
  owned_.context().driver().call(symbol::event_record)(handle(), stream);
}

void Event::synchronize() const {
  owned_.context().driver().call(symbol::event_synchronize)(handle());
}

bool Event::complete() const {
  const Driver& driver = owned_.context().driver();
  return complete_or_throw(driver, driver.raw(symbol::event_query)(handle()),
                           symbol::event_query.name);
}

double elapsed_seconds(const Context& context, const Event& first, const Event& last) {
  float milliseconds = 0;
  context.driver().call(symbol::event_elapsed_time)(&milliseconds, first.handle(), last.handle());
  // Also true for NaN.
  if (!(milliseconds >= 0)) throw_unusable_times(milliseconds);
  return static_cast<double>(milliseconds) * 1e-3;
}

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
