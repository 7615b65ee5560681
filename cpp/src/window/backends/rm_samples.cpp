#include "window/backends/rm_samples.hpp"

#include <random>
#include <vector>

namespace isthmus::window::rm {
namespace {

// The least that cuMemCreate gives is 2 MiB. One of another size shows that sizes are told apart.
constexpr std::size_t kGranuleBytes = std::size_t{2} << 20U;
constexpr std::array<std::size_t, Samples::kNum> kSizesBytes{kGranuleBytes, 2 * kGranuleBytes,
                                                             kGranuleBytes};
constexpr std::size_t kBufferBytes = 256;

// Must differ from all other memory of the process.
Samples::Mark random_mark() {
  std::random_device random;
  Samples::Mark mark;
  for (std::byte& byte : mark) byte = static_cast<std::byte>(random());
  return mark;
}

/// Blocks of the process's heap with as many gaps between them. What the driver allocates next lies
/// in these, so that what is beside a record by chance differs from sample to sample. Without this
/// a place just behind a record's structure was learned, where each sample's next structure had the
/// same number, and it named another object for memory that PyTorch had made (driver 580).
/// Device memory that is made and freed would do the same, but may wait for the program's kernels.
class HeapGaps {
public:
  HeapGaps() {
    for (std::size_t size = kMinBytes; size <= kMaxBytes; size += kStepBytes) {
      std::vector<std::unique_ptr<std::byte[]>> gaps;
      for (int pair = 0; pair < kNumGaps; ++pair) {
        gaps.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
        blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
      }
    }
  }

private:
  // Of the driver's structures, whose sizes aren't known, and of glibc's sizes of blocks.
  static constexpr std::size_t kMinBytes = 56;
  static constexpr std::size_t kMaxBytes = 568;
  static constexpr std::size_t kStepBytes = 16;
  static constexpr int kNumGaps = 7;  // as many as glibc keeps for a thread without joining them

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace

Samples::Samples(const Context& context)
    : context_(context), copy_engine_(context), buffer_(context, kBufferBytes) {
  for (std::size_t index = 0; index < kNum; ++index) {
    const HeapGaps gaps;
    Sample& one = each_[index];
    one.memory =
        std::make_unique<CreatedMemory>(context, kSizesBytes[index], CU_MEM_HANDLE_TYPE_NONE);
    one.created = std::make_unique<CreatedObject>(
        context.driver(), allocations_of(context.driver(), one.memory->pointer(), 1).front());
    one.mark = random_mark();
    copy_engine_.write(one.memory->pointer(), one.mark.data(), kMarkBytes);
  }
}

MemoryObject Samples::buffer_object() const {
  const Driver& driver = context_.driver();
  const auto found =
      object_behind(driver, allocations_of(driver, buffer_.pointer(), kBufferBytes).front());
  if (!found)
    refuse_handleless(
        "CUDA's client can't be found, because CUDA gives no IPC handle of its memory "
        "(cuIpcGetMemHandle)");
  return *found;
}

}  // namespace isthmus::window::rm
