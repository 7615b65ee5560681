#include "measure/bandwidth/peer_flow.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>

#include "measure/loops/failures.hpp"

namespace isthmus::measure {
namespace {

constexpr unsigned char kPoison = 0xA5;
constexpr std::size_t kReadBackBytes = std::size_t{16} << 20U;
constexpr unsigned kBlockLanes = 512;
constexpr unsigned kBlocksPerMultiprocessor = 4;  // 2048 threads, as many as fit on one

std::optional<Kernel> copier(const PeerEnd& asker, Engine by) {
  if (by == Engine::copy_engine) return std::nullopt;
  if (asker.kernels == nullptr) {
    throw Unavailable("copy by multiprocessors", "there are no kernels", "NVRTC");
  }
  return asker.kernels->get("copy", "isthmus_copy");
}

unsigned blocks_for(const Context& context) {
  return kBlocksPerMultiprocessor *
         static_cast<unsigned>(std::max(1, context.device().num_multiprocessors));
}

}  // namespace

PeerFlow::PeerFlow(const PeerEnd& source, const PeerEnd& target, const PeerOptions& options)
    : source_(source),
      target_(target),
      options_(options),
      access_(asker().context, other().context),
      from_(source.context, options.size_bytes),
      to_(target.context, options.size_bytes),
      contents_(Contents::random),
      kernel_(copier(asker(), options.by)) {}

void PeerFlow::prepare() {
  const CurrentContext current(source_.context);
  if (source_.kernels != nullptr && contents_.kernels_can_check(from_.pointer())) {
    const Stream stream(source_.context);
    contents_.fill_by_kernel(*source_.kernels, stream, from_.pointer(), size_bytes());
    stream.synchronize();
  } else {
    std::vector<std::byte> bytes(size_bytes());
    contents_.fill(bytes.data(), bytes.size());
    const Driver& driver = source_.context.driver();
    driver.call(symbol::memcpy_htod)(from_.pointer(), bytes.data(), bytes.size());
    // The end of a pageable copy may still be in flight; other streams wouldn't wait for it.
    driver.call(symbol::stream_synchronize)(nullptr);
  }
}

void PeerFlow::poison() {
  const CurrentContext current(target_.context);
  const Stream stream(target_.context);
  target_.context.driver().call(symbol::memset_d8_async)(to_.pointer(), kPoison, size_bytes(),
                                                         stream.handle());
  stream.synchronize();
}

void PeerFlow::enqueue(CUstream stream) const {
  if (kernel_) {
    kernel_->launch(stream, blocks_for(context()), kBlockLanes, from_.pointer(), to_.pointer(),
                    static_cast<unsigned long long>(size_bytes()));
    return;
  }
  context().driver().call(symbol::memcpy_peer_async)(to_.pointer(), target_.context.handle(),
                                                     from_.pointer(), source_.context.handle(),
                                                     size_bytes(), stream);
}

VerifiedOn PeerFlow::verify() {
  const CurrentContext current(target_.context);
  const bool by_kernel = target_.kernels != nullptr && contents_.kernels_can_check(to_.pointer());
  const std::uint64_t mismatches =
      by_kernel ? contents_.count_by_kernel(*target_.kernels, Stream(target_.context),
                                            to_.pointer(), size_bytes())
                : mismatches_seen_from_host();
  if (mismatches == 0) return by_kernel ? VerifiedOn::device : VerifiedOn::host;
  throw CorruptTransfer("verification failed: " + std::to_string(mismatches) + " words of a " +
                        std::to_string(size_bytes()) + "-byte copy from GPU " +
                        std::to_string(source_.context.device().ordinal) + " to GPU " +
                        std::to_string(target_.context.device().ordinal) +
                        " are not what was sent");
}

std::uint64_t PeerFlow::mismatches_seen_from_host() const {
  std::vector<std::byte> chunk(std::min(size_bytes(), kReadBackBytes));
  std::uint64_t mismatches = 0;
  for (std::size_t offset = 0; offset < size_bytes(); offset += chunk.size()) {
    const std::size_t chunk_bytes = std::min(chunk.size(), size_bytes() - offset);
    target_.context.driver().call(symbol::memcpy_dtoh)(chunk.data(), to_.pointer() + offset,
                                                       chunk_bytes);
    mismatches += contents_.count_mismatches(chunk.data(), offset, chunk_bytes);
  }
  return mismatches;
}

}  // namespace isthmus::measure
