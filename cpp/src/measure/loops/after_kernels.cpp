#include "measure/loops/after_kernels.hpp"

namespace isthmus::measure {
namespace {

/// The driver sets so many bytes by a kernel; after 256 bytes, streams still answered sooner.
constexpr std::size_t kBytes = std::size_t{64} << 10U;

}  // namespace

AfterKernels::AfterKernels(const Context& context) : memory_(context, kBytes), stream_(context) {}

void AfterKernels::run() const {
  const Context& context = stream_.context();
  const CurrentContext current(context);
  context.driver().call(symbol::memset_d8_async)(memory_.pointer(), std::uint8_t{0}, kBytes,
                                                 stream_.handle());
  stream_.synchronize();
}

}  // namespace isthmus::measure
