// The streams of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// The most streams of a program: their numbers stand in the simulator's events.
inline constexpr std::size_t kMaxStreams = 1024;

/// Numbers a program's streams from 0, in the order in which it first uses them.
class Streams {
public:
  /// Throws      UsageError if there are more than kMaxStreams.
  explicit Streams(const Program& program);

  /// 1 or more.
  std::size_t count() const { return numbers_.empty() ? 1 : numbers_.size(); }
  /// stream      of a launch or a step; not kAllStreams
  std::uint32_t number(std::uint32_t stream) const { return numbers_.at(stream); }

private:
  void add(std::uint32_t stream);
  std::map<std::uint32_t, std::uint32_t> numbers_;
};

}  // namespace isthmus::trace
