// Traces that Python holds: TraceSource, which one simulation at a time reads, and one whose blocks
// Python reads from a file, through Arrow, without a copy.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "trace/checking.hpp"
#include "trace/recorded.hpp"
#include "trace/trace.hpp"

/// Owns a trace's source. A source has one position, and its memory is overwritten by the next
/// block. So it has one user at a time, and can't advance while an array of the last block is
/// alive.
class TraceSource {
public:
  explicit TraceSource(std::unique_ptr<isthmus::trace::Source> source)
      : source_(std::move(source)) {}
  TraceSource(const TraceSource&) = delete;
  TraceSource& operator=(const TraceSource&) = delete;

  const isthmus::trace::Program& program() const { return source_->program(); }

  /// The right to use the source during the object's life. Created and destroyed with the GIL held;
  /// in between it isn't needed.
  class Use {
  public:
    /// Throws      UsageError if another thread uses the source, or Python has arrays of a block.
    explicit Use(TraceSource& owner);
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { owner_.in_use_ = false; }

    isthmus::trace::Source& operator*() const { return *owner_.source_; }
    isthmus::trace::Source* operator->() const { return owner_.source_.get(); }

  private:
    TraceSource& owner_;
  };

  /// A token that an array of the current block keeps.
  std::shared_ptr<const int> share() const { return arrays_; }
  /// The number of the current block; it changes after every Use.
  std::uint64_t position() const { return position_; }

private:
  std::unique_ptr<isthmus::trace::Source> source_;
  std::shared_ptr<const int> arrays_ = std::make_shared<const int>(0);
  std::uint64_t position_ = 0;
  bool in_use_ = false;
};

/// A file that is mapped into memory, and its descriptor. A negative descriptor: no file.
struct MappedFile {
  nanobind::object mapping;
  int descriptor = -1;
};

/// Asks Python for one block after the other and holds the memory of the last. `read_block(i)`
/// returns seven contiguous buffers: the launch and the CTA of every warp, then the arrays of
/// trace::Block. Blocks in a mapped file can be read again from it.
class PythonBlocks : public isthmus::trace::Source {
public:
  /// label       the file's name for error messages
  /// Throws      UsageError for an invalid program.
  PythonBlocks(std::string label, isthmus::trace::Program program, std::uint64_t num_blocks,
               nanobind::callable read_block, const MappedFile& file);
  ~PythonBlocks() override;

  const isthmus::trace::Program& program() const override { return program_; }
  /// Takes the GIL while Python reads. Python exceptions pass through.
  std::optional<isthmus::trace::Block> next() override;
  void rewind() override;

private:
  static constexpr std::size_t kNumBuffers = 7;

  void hold(nanobind::handle buffers);
  void release() noexcept;
  isthmus::trace::Block held_block() const;
  void map(const MappedFile& file);
  isthmus::trace::StoredBlock stored(const isthmus::trace::Block& block) const;
  template <typename Item>
  std::span<const Item> items(std::size_t buffer, const char* name) const;
  [[noreturn]] void fail(const std::string& why) const;

  std::string label_;
  isthmus::trace::Program program_;
  std::uint64_t num_blocks_;
  nanobind::callable read_block_;
  isthmus::trace::BlockOrder order_;
  std::uint64_t next_block_ = 0;
  std::array<Py_buffer, kNumBuffers> buffers_{};
  Py_buffer mapping_{};
  std::shared_ptr<const isthmus::trace::FileStore> store_;  // of the mapped file, if there is one
};
