// A GPU program's memory operations, warp by warp, without times: workloads record them, files hold
// them, and the simulator runs them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace isthmus::trace {

/// The unit of warps' requests. Source: L1 and L2 of Zhang 2019, and of Accel-Sim.
inline constexpr std::uint64_t kLineBytes = 128;

/// A warp's operation after its `compute` instructions.
enum class OpKind : std::uint8_t {
  load,         ///< waits for all its lines
  store,        ///< waits for none
  atomic,       ///< waits like a load, and changes the lines
  local_load,   ///< per-thread memory: lines[0] is the word's index in a thread's local memory
  local_store,  ///< like local_load; its place depends on where the warp runs
  barrier,      ///< of its CTA; no lines
  end,          ///< only its compute instructions; no lines
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

/// The stream of a host step that waits for everything before it, and everything after it for it.
inline constexpr std::uint32_t kAllStreams = ~0U;
/// The most streams of a program: their numbers stand in the simulator's events.
inline constexpr std::size_t kMaxStreams = 1024;

/// A step of the host between launches, in this order.
struct HostStep {
  enum class Kind : std::uint8_t {
    upload,    ///< an explicit copy to the GPU, written by a programmer
    download,  ///< an explicit copy of results to the CPU
    read,      ///< the CPU reads data that was not copied explicitly
    write,     ///< the CPU writes: its page goes back to the host
    /// An explicit copy to the GPU of data that the CPU never changes, made again whenever it was
    /// overwritten there: a programmer's cache. With migration there is no such step.
    upload_again,
  };
  Kind kind = Kind::upload;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::uint32_t stream = kAllStreams;  ///< a copy in a stream: after what is before it there
};
constexpr auto words_of(HostStep::Kind) {
  return std::array{"upload", "download", "read", "write", "upload_again"};
}

/// Whether a programmer copies bytes to the GPU in this step.
inline bool copies_to_gpu(HostStep::Kind kind) {
  using Kind = HostStep::Kind;
  return kind == Kind::upload || kind == Kind::upload_again || kind == Kind::write;
}

/// One kernel. All CTAs have the same size.
struct Launch {
  std::string name;
  std::uint32_t num_ctas = 0;
  std::uint32_t warps_per_cta = 0;
  std::uint32_t threads_per_cta = 0;
  std::uint32_t max_ctas_per_sm = 0;  ///< by registers and shared memory; 0: the machine's
  std::uint32_t local_bytes_per_thread = 0;
  std::vector<HostStep> before;  ///< done before the launch
  std::uint32_t stream = 0;      ///< launches of different streams may run at the same time
};

/// Everything that is known before any operation is read.
struct Program {
  std::string name;
  std::string description;
  bool synthetic = false;  ///< inputs or compute lengths are made up: the description says which
  std::vector<Allocation> allocations;
  std::vector<Launch> launches;
  std::vector<HostStep> after;            ///< after the last launch
  std::uint64_t thread_instructions = 0;  ///< of all launches, calibrated; 0: unknown
};

/// Stores the bytes of blocks that have been read: a file.
class BlockStore {
public:
  BlockStore() = default;
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;
  virtual ~BlockStore() = default;

  /// Reads `bytes.size()` bytes at `offset_bytes`.
  ///
  /// Throws      UsageError if they can't be read any more.
  virtual void read(std::uint64_t offset_bytes, std::span<std::byte> bytes) const = 0;
};

/// The offsets of a block's arrays in a store.
struct StoredBlock {
  std::shared_ptr<const BlockStore> store;  ///< null: the block can't be read again
  std::uint64_t kinds_offset = 0;           ///< in bytes, like the next ones
  std::uint64_t compute_offset = 0;
  std::uint64_t line_begin_offset = 0;
  std::uint64_t lines_offset = 0;
};

/// Whole CTAs of one launch: arrays, which a file may own. Warps are in order, those of a CTA
/// together. The operations of warp w are [op_begin[w], op_begin[w + 1]). The lines of operation o
/// are [line_begin[o], line_begin[o + 1]): addresses divided by kLineBytes, each once, in the order
/// of the first lane that accesses it. Every warp's last operation, and no other, is `end`.
struct Block {
  std::uint32_t launch = 0;
  std::uint32_t first_cta = 0;
  std::uint32_t num_ctas = 0;
  std::span<const std::uint32_t> op_begin;    ///< [num_ctas * warps_per_cta + 1]
  std::span<const std::uint8_t> kinds;        ///< [num_ops], OpKind
  std::span<const std::uint32_t> compute;     ///< [num_ops], warp instructions before the operation
  std::span<const std::uint32_t> line_begin;  ///< [num_ops + 1]
  std::span<const std::uint64_t> lines;
  StoredBlock stored = {};  ///< where it can be read again after the source has moved on
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
  /// Throws      UsageError for a corrupt source; the message says where.
  virtual std::optional<Block> next() = 0;
  /// Goes back to the first block.
  virtual void rewind() = 0;
};

}  // namespace isthmus::trace
