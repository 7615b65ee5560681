// TraceSource: a trace that Python holds and that one simulation at a time reads.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <utility>

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
