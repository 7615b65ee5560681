// Sampling into a poisoned target that is verified afterwards, for every loop that copies.
#pragma once

#include <string>
#include <utility>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// Takes sets of samples of copies in one direction, and rejects a set whose bytes did not arrive.
class VerifiedSampling {
public:
  /// kernels   null: verified from the host
  VerifiedSampling(CopyBuffers& buffers, const Kernels* kernels, Direction direction,
                   std::size_t size_bytes, const Stopping& stopping)
      : buffers_(buffers),
        kernels_(kernels),
        direction_(direction),
        size_bytes_(size_bytes),
        stopping_(stopping) {}

  /// Poisons the target, samples `one()`, verifies the target, and adds the samples to
  /// `measurement`.
  ///
  /// If the rule says not to verify, nothing is verified, and the measurement says so.
  ///
  /// one      copies at least once, and returns the seconds for one copy; then all copies are
  ///          complete
  /// Throws   CorruptTransfer, and what `one` throws; then nothing is added.
  template <typename OneSample>
  void add(Measurement& measurement, std::string metric, std::size_t copies_per_sample,
           OneSample one) {
    if (stopping_.verify) buffers_.poison(direction_, size_bytes_);
    Samples samples = sample(stopping_, std::move(metric), copies_per_sample, one);
    measurement.verified_on =
        stopping_.verify ? buffers_.verify(direction_, size_bytes_, kernels_) : VerifiedOn::nobody;
    measurement.samples.push_back(std::move(samples));
  }

private:
  CopyBuffers& buffers_;
  const Kernels* kernels_;
  Direction direction_;
  std::size_t size_bytes_;
  Stopping stopping_;
};

}  // namespace isthmus::measure
