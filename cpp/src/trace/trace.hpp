// What a GPU program asks of memory, warp by warp, without any time: what workloads write down,
// files hold and the simulator runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace isthmus::trace {

/// What warps' requests are cut into. Source: L1 and L2 of Zhang 2019, and of Accel-Sim.
inline constexpr std::uint64_t kLineBytes = 128;

/// What a warp does after its `compute` instructions.
enum class OpKind : std::uint8_t {
  load,         ///< waits for all its lines
  store,        ///< waits for none
  atomic,       ///< as a load, and the lines are changed
  local_load,   ///< of per-thread memory: lines[0] is the word's index in a thread's local memory
  local_store,  ///< as local_load; where that lies depends on where the warp runs
  barrier,      ///< of its CTA; no lines
  end,          ///< nothing more than its compute instructions; no lines
};

inline bool is_local(OpKind kind) {
  return kind == OpKind::local_load || kind == OpKind::local_store;
}

/// Memory that the program allocated.
struct Allocation {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
};

/// What the host does between launches, in this order.
struct HostStep {
  enum class Kind : std::uint8_t {
    upload,    ///< an explicit copy to the GPU, which a programmer wrote
    download,  ///< an explicit copy of results to the CPU
    read,      ///< the CPU reads what it had not copied explicitly
    write,     ///< the CPU writes: its page is the CPU's again
  };
  Kind kind = Kind::upload;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
};

/// One kernel. All CTAs are alike in size.
struct Launch {
  std::string name;
  std::uint32_t num_ctas = 0;
  std::uint32_t warps_per_cta = 0;
  std::uint32_t threads_per_cta = 0;
  std::uint32_t max_ctas_per_sm = 0;  ///< by its registers and shared memory; 0: the machine's
  std::uint32_t local_bytes_per_thread = 0;
  std::vector<HostStep> before;  ///< done before the launch
};

/// All that is known before any operation is read.
struct Program {
  std::string name;
  std::string description;
  bool synthetic = false;  ///< inputs or compute lengths made up: the description says which
  std::vector<Allocation> allocations;
  std::vector<Launch> launches;
  std::vector<HostStep> after;            ///< the last launch
  std::uint64_t thread_instructions = 0;  ///< of all launches, calibrated; 0: not known
};

/// What keeps the bytes of blocks that have gone by: a file.
class BlockStore {
public:
  BlockStore() = default;
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;
  virtual ~BlockStore() = default;

  /// Reads `bytes.size()` bytes from `offset_bytes` on.
  ///
  /// Throws      UsageError if they can't be read any more.
  virtual void read(std::uint64_t offset_bytes, std::span<std::byte> bytes) const = 0;
};

/// Where arrays of a block lie in a store.
struct StoredBlock {
  std::shared_ptr<const BlockStore> store;  ///< null: a block that is gone can't be read again
  std::uint64_t kinds_offset = 0;           ///< in bytes, as the next
  std::uint64_t compute_offset = 0;
  std::uint64_t line_begin_offset = 0;
  std::uint64_t lines_offset = 0;
};

/// Whole CTAs of one launch: arrays, of which a file may be the owner. Warps are in order, those of
/// a CTA together. Of warp w the operations are [op_begin[w], op_begin[w + 1]), of operation o the
/// lines [line_begin[o], line_begin[o + 1]): addresses divided by kLineBytes, each once, in the
/// order of the first lane that asks. Every warp's last operation is `end`, and only that.
struct Block {
  std::uint32_t launch = 0;
  std::uint32_t first_cta = 0;
  std::uint32_t num_ctas = 0;
  std::span<const std::uint32_t> op_begin;    ///< [num_ctas * warps_per_cta + 1]
  std::span<const std::uint8_t> kinds;        ///< [num_ops], OpKind
  std::span<const std::uint32_t> compute;     ///< [num_ops], warp instructions before it
  std::span<const std::uint32_t> line_begin;  ///< [num_ops + 1]
  std::span<const std::uint64_t> lines;
  StoredBlock stored = {};  ///< from where it can be read after the source has gone on
};

/// A program's operations, block after block, in the order of launches and CTAs.
class Source {
public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  virtual const Program& program() const = 0;
  /// The next block, valid until the next call; none at the end.
  ///
  /// Throws      UsageError for a source that is corrupt, and says where.
  virtual std::optional<Block> next() = 0;
  /// Back to the first block.
  virtual void rewind() = 0;
};

}  // namespace isthmus::trace
