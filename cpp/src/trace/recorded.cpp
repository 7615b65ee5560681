#include "trace/recorded.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <isthmus/errors.hpp>

namespace isthmus::trace {

FileStore::FileStore(std::string label, int descriptor)
    : label_(std::move(label)), descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  if (descriptor_ >= 0) return;
  throw UsageError(label_ + ": " + std::generic_category().message(errno));
}

FileStore::~FileStore() { close(descriptor_); }

void FileStore::read(std::uint64_t offset_bytes, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count =
        pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw UsageError(label_ + ": " + std::generic_category().message(errno));
    if (count == 0) throw UsageError(label_ + " has become shorter while it was read");
    offset_bytes += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

namespace {

template <class Element>
std::vector<Element> copy_of(std::span<const Element> elements) {
  return {elements.begin(), elements.end()};
}

template <class Element>
std::uint64_t bytes_of(const std::vector<Element>& elements) {
  return elements.size() * sizeof(Element);
}

// No other number that follows those of a launch or a step is as large.
constexpr std::uint64_t kStreamMark = std::uint64_t{1} << 63U;

/// Mixes numbers, in order.
class Digest {
public:
  explicit Digest(std::uint64_t before) : value_(before) {}

  void add(std::uint64_t number) {
    value_ = (value_ ^ number) * 0x9E3779B97F4A7C15ULL;
    value_ ^= value_ >> 32U;
  }
  /// With their number, so that elements of one list aren't taken for those of the next.
  template <class Element>
  void add(std::span<const Element> elements) {
    const auto bytes = std::as_bytes(elements);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as characters
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    add(text.size());
    add(std::hash<std::string_view>{}(text));
  }
  void add(const std::vector<HostStep>& steps) {
    add(steps.size());
    for (const HostStep& step : steps) {
      add(static_cast<std::uint64_t>(step.kind));
      add(step.address);
      add(step.size_bytes);
      if (step.stream != kAllStreams) add(kStreamMark | step.stream);
    }
  }
  std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_;
};

std::uint64_t digest_of(const Program& program) {
  Digest digest(0);
  digest.add(program.allocations.size());
  for (const Allocation& allocation : program.allocations) {
    digest.add(allocation.address);
    digest.add(allocation.size_bytes);
  }
  digest.add(program.launches.size());
  for (const Launch& launch : program.launches) {
    for (const std::uint32_t number :
         {launch.num_ctas, launch.warps_per_cta, launch.threads_per_cta, launch.max_ctas_per_sm,
          launch.local_bytes_per_thread}) {
      digest.add(number);
    }
    // A program without streams keeps the digest that it has always had.
    if (launch.stream != 0) digest.add(kStreamMark | launch.stream);
    digest.add(launch.before);
  }
  digest.add(program.after);
  return digest.value();
}

}  // namespace

BlockCopy::BlockCopy(const Block& block)
    : shape_{block.launch, block.first_cta, block.num_ctas, {}, {}, {}, {}, {}, block.stored},
      op_begin_(copy_of(block.op_begin)),
      kinds_(copy_of(block.kinds)),
      compute_(copy_of(block.compute)),
      line_begin_(copy_of(block.line_begin)),
      lines_(copy_of(block.lines)) {}

Block BlockCopy::block() const {
  return {shape_.launch, shape_.first_cta, shape_.num_ctas, op_begin_,    kinds_,
          compute_,      line_begin_,      lines_,          shape_.stored};
}

std::uint64_t BlockCopy::size_bytes() const noexcept {
  return bytes_of(op_begin_) + bytes_of(kinds_) + bytes_of(compute_) + bytes_of(line_begin_) +
         bytes_of(lines_);
}

Recording::Recording(Program program)
    : program_(std::move(program)), digest_(digest_of(program_)) {}

void Recording::add(const Block& block) {
  Digest digest(digest_);
  for (const std::uint32_t number : {block.launch, block.first_cta, block.num_ctas}) {
    digest.add(number);
  }
  digest.add(block.op_begin);
  digest.add(block.kinds);
  digest.add(block.compute);
  digest.add(block.line_begin);
  digest.add(block.lines);
  digest_ = digest.value();
  Block kept = block;
  kept.stored = {};
  blocks_.emplace_back(kept);
}

std::uint64_t Recording::size_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const BlockCopy& kept : blocks_) sum += kept.size_bytes();
  return sum;
}

std::shared_ptr<const Recording> record(Source& source) {
  source.rewind();
  const auto recording = std::make_shared<Recording>(source.program());
  while (const auto block = source.next()) recording->add(*block);
  return recording;
}

std::optional<Block> Replay::next() {
  if (next_block_ == recording_->num_blocks()) return std::nullopt;
  return recording_->block(next_block_++);
}

}  // namespace isthmus::trace
