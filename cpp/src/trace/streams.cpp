#include "trace/streams.hpp"

#include <isthmus/errors.hpp>

#include <string>

namespace isthmus::trace {

Streams::Streams(const Program& program) {
  for (const Launch& launch : program.launches) {
    for (const HostStep& step : launch.before) add(step.stream);
    add(launch.stream);
  }
  for (const HostStep& step : program.after) add(step.stream);
}

void Streams::add(std::uint32_t stream) {
  if (stream == kAllStreams) return;
  numbers_.emplace(stream, static_cast<std::uint32_t>(numbers_.size()));
  if (numbers_.size() <= kMaxStreams) return;
  throw UsageError("the program has more than " + std::to_string(kMaxStreams) +
                   " streams: give fewer of them to its launches and copies");
}

}  // namespace isthmus::trace
