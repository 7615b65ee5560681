// CTAs out of a trace, in order, with their lines placed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/address_map.hpp"
#include "sim/schedule.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

/// Instructions, then what follows them. `first_line` is an index into CtaWork::lines.
struct Operation {
  std::uint32_t compute = 0;
  std::uint32_t first_line = 0;
  trace::OpKind kind = trace::OpKind::end;
};

/// What one CTA does: a copy, since a trace's blocks go by while CTAs run.
struct CtaWork {
  std::vector<std::uint32_t> first_operation;  ///< [num_warps + 1], into operations
  std::vector<Operation> operations;           ///< the last has no kind, only the end of the lines
  std::vector<PlacedLine> lines;
};

/// Where a CTA runs, which decides where its local memory lies.
struct CtaPlace {
  std::uint32_t core = 0;
  std::uint32_t slot = 0;  ///< of the core
  std::uint32_t num_cores = 0;
  std::uint32_t slots_per_core = 0;  ///< of this launch
};

/// Reads a Source launch by launch.
class CtaFeed {
public:
  /// Both outlive the feed. The source is rewound.
  ///
  /// placed      called after a CTA's lines have been placed, of which some may be in new chunks
  CtaFeed(trace::Source& source, AddressMap& map, std::function<void()> placed);

  /// Starts launch `index`, which follows the last one's end.
  void begin_launch(std::uint32_t index);
  /// The launch's next CTA, written over `work`. Returns its number; none if that was the last.
  ///
  /// Throws      UsageError if the source has others than the program says.
  std::optional<std::uint32_t> next(const CtaPlace& place, CtaWork& work);

  /// After the last launch.
  ///
  /// Throws      UsageError if the source goes on.
  void check_end();

  const trace::Program& program() const { return source_.program(); }

private:
  bool have_block();
  void copy(std::uint32_t first_warp, const CtaPlace& place, CtaWork& work);
  void place_with_local(std::span<const std::uint64_t> lines, const CtaPlace& place, CtaWork& work);
  [[noreturn]] void fail(const std::string& what) const;

  trace::Source& source_;
  AddressMap& map_;
  std::function<void()> placed_;
  trace::Block block_;
  std::uint32_t next_in_block_ = 0;
  std::uint32_t launch_index_ = 0;
  std::uint32_t next_cta_ = 0;
  std::uint32_t warps_per_cta_ = 0;
  std::vector<std::uint64_t> real_lines_;  // of a CTA with local memory
};

}  // namespace isthmus::sim
