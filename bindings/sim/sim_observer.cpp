#include "bindings/sim/sim_observer.hpp"
#include "bindings/gil.hpp"

#include <utility>

#include <isthmus/errors.hpp>

namespace nb = nanobind;

namespace {

// Short for a person who pressed Ctrl-C; long compared with acquiring the GIL.
constexpr std::chrono::milliseconds kBetweenPolls{50};

}  // namespace

SimObserver::SimObserver(nb::object poll, SimTimeline* timeline)
    : poll_(std::move(poll)),
      timeline_(timeline),
      next_(std::chrono::steady_clock::now() + kBetweenPolls) {}

void SimObserver::poll(isthmus::sim::Picoseconds now_ps) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kBetweenPolls;
  const GilHeld held;
  // The signal handler's exception is pending; the translator leaves it.
  if (into_python([] { return PyErr_CheckSignals(); }) != 0)
    throw isthmus::Interrupted("the run was interrupted");
  if (poll_.is_none()) return;
  if (!into_python([&] { return nb::cast<bool>(poll_(now_ps)); }))
    throw isthmus::Interrupted("the run was stopped");
}

void SimObserver::launched(const std::string& kernel, Span span) {
  if (timeline_ == nullptr) return;
  add(SimTimeline::Kind::launch, timeline_->name(kernel), 0, span);
}

void SimObserver::cta_done(std::uint32_t core, std::uint32_t cta, Span span) {
  add(SimTimeline::Kind::cta, core, cta, span);
}

void SimObserver::migrated(std::uint64_t address, std::uint64_t size_bytes, Span span) {
  add(SimTimeline::Kind::migration, address, size_bytes, span);
}

void SimObserver::link_busy(bool to_gpu, std::uint64_t size_bytes, Span span) {
  add(to_gpu ? SimTimeline::Kind::to_gpu : SimTimeline::Kind::to_cpu, 0, size_bytes, span);
}

void SimObserver::evicted(std::uint64_t address, std::uint64_t size_bytes, Span span) {
  add(SimTimeline::Kind::eviction, address, size_bytes, span);
}

void SimObserver::add(SimTimeline::Kind kind, std::uint64_t where, std::uint64_t amount,
                      Span span) {
  if (timeline_ != nullptr) timeline_->add({kind, where, amount, span});
}
