// CTAs from a trace, in order, with their lines placed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/cores/schedule.hpp"
#include "sim/migration/address_map.hpp"
#include "trace/recorded.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

/// Instructions, and the memory operation after them.
struct Operation {
  std::uint32_t compute = 0;
  std::uint32_t first_line = 0;  ///< an index into the lines stored with it
  trace::OpKind kind = trace::OpKind::end;
  bool ends_window = false;  ///< not an operation: only the end of the lines; read the next window
};

/// The place where a CTA runs, which determines where its local memory is.
struct CtaPlace {
  std::uint32_t core = 0;
  std::uint32_t slot = 0;  ///< in the core
  std::uint32_t num_cores = 0;
  std::uint32_t slots_per_core = 0;  ///< in this launch
  std::uint32_t stream = 0;          ///< its number: each has local memory of its own
};

/// The next operations of a warp.
struct WarpWindow {
  std::vector<Operation> operations;  ///< the last one marks the end of the window
  std::vector<PlacedLine> lines;
  std::uint32_t next_operation = 0;  ///< in the block: the first one after the window
  std::uint32_t end_operation = 0;   ///< of the warp
};

/// The operations of one CTA: a copy, since the trace's blocks are replaced while CTAs run. If the
/// copy would be large and the trace can be read again, it holds only windows.
struct CtaWork {
  std::vector<std::uint32_t> first_operation;  ///< [num_warps + 1], into operations
  std::vector<Operation> operations;           ///< the last one has no kind, only the lines' end
  std::vector<PlacedLine> lines;

  std::vector<WarpWindow> windows;  ///< [num_warps]; empty: the CTA is held whole, above
  trace::StoredBlock stored;        ///< where windows are read
  std::uint32_t launch = 0;
  CtaPlace place;

  /// Bytes of memory, used or not.
  std::size_t held_bytes() const;
};

/// Where a warp continues: in its CTA's work, or in its window.
struct WarpWork {
  const Operation* operation = nullptr;
  const PlacedLine* lines = nullptr;
};

/// Reads a Source in its order. Blocks of launches whose CTAs begin later are kept in memory.
class CtaFeed {
public:
  /// All running CTAs together hold at most this if their trace can be read again: about as much as
  /// the rest of a large simulation. With 8448 warps (132 cores), each has 7.9 KB.
  static constexpr std::size_t kMaxHeldBytes = 64U << 20U;
  /// A window has at most this many operations and, unless a single operation has more, lines: 3.6
  /// KB. Reading it takes some microseconds, less than 20 ns for each operation.
  static constexpr std::uint32_t kWindowOperations = 128;
  static constexpr std::uint32_t kWindowLines = 256;

  /// The limit for each slot.
  static std::size_t max_held_bytes(std::size_t num_cores, std::uint32_t slots_per_core) {
    return kMaxHeldBytes / num_cores / slots_per_core;
  }

  /// Both must outlive the feed. The source is rewound.
  ///
  /// placed      called after lines have been placed, possibly in new chunks
  CtaFeed(trace::Source& source, AddressMap& map, std::function<void()> placed);

  /// Writes a launch's next CTA, of which there must be one, to `work`. Returns its number.
  ///
  /// Throws      UsageError if the source's CTAs aren't those of the program.
  std::uint32_t next(std::uint32_t launch, const CtaPlace& place, CtaWork& work);

  /// The first work of a warp of a CTA.
  WarpWork begin(CtaWork& work, std::uint32_t warp);
  /// Replaces a warp's window by the next one.
  ///
  /// Throws      UsageError if the trace can't be read again, or differs.
  WarpWork next_window(CtaWork& work, std::uint32_t warp);

  /// To call after the last launch.
  ///
  /// Throws      UsageError if the source has more blocks.
  void check_end();

  const trace::Program& program() const { return source_.program(); }

private:
  /// Operations and lines of the current block.
  struct Extent {
    std::uint32_t first_operation, end_operation, first_line, num_lines;
  };
  /// Lines of local memory. The words of all threads that can run at once are interleaved: a word
  /// of a warp is one line.
  struct LocalMemory {
    std::uint64_t first_line;  // of the CTA's first warp, for word 0
    std::uint64_t lines_per_word;

    std::uint64_t line(std::uint32_t warp, std::uint64_t word) const {
      return first_line + warp + word * lines_per_word;
    }
  };

  /// A block of which the CTAs from `next` on haven't begun.
  struct Part {
    trace::Block block;
    std::uint32_t next = 0;
  };

  std::uint32_t warps_per_cta(std::uint32_t launch) const {
    return program().launches[launch].warps_per_cta;
  }
  bool have_block();
  void check_order(const trace::Block& block) const;
  Part& part_of(std::uint32_t launch);
  static Extent extent(const trace::Block& block, std::uint32_t first_warp,
                       std::uint32_t warps_per_cta);
  LocalMemory local_memory(const CtaWork& work) const;
  void hold(const trace::Block& block, std::uint32_t first_warp, const Extent& extent,
            CtaWork& work);
  void place_with_local(std::span<const std::uint64_t> lines, CtaWork& work);
  [[noreturn]] void fail(const std::string& what) const;

  // Windows (cta_windows.cpp)
  static bool is_read_in_windows(const trace::Block& block, const Extent& extent,
                                 const CtaPlace& place);
  void begin_windows(const trace::Block& block, std::uint32_t first_warp, const Extent& extent,
                     CtaWork& work);
  void number_chunks(const trace::Block& block, std::uint32_t first_warp, const Extent& extent,
                     const CtaWork& work);
  static std::uint64_t read_operations(const CtaWork& work, WarpWindow& window);
  void read_lines(const CtaWork& work, std::uint32_t warp, std::uint64_t first_line,
                  WarpWindow& window);
  [[noreturn]] static void fail_changed(const CtaWork& work);

  trace::Source& source_;
  AddressMap& map_;
  std::function<void()> placed_;
  Part last_;  // what the source has given last
  struct KeptPart {
    trace::BlockCopy copy;
    Part part;
  };
  std::map<std::uint32_t, std::deque<KeptPart>> kept_;  // by launch, of those before
  std::uint32_t due_launch_ = 0;                        // of the block after the last one
  std::uint32_t due_cta_ = 0;
  std::vector<std::uint64_t> real_lines_;  // of a CTA with local memory, or of a window
};

}  // namespace isthmus::sim
