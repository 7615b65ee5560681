// Recognises handwritten digits with a convolutional network.
#pragma once

#include <array>
#include <cstdint>

#include "workloads/evaluation/nn_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct NnSizes {
  std::uint32_t digits = 28;
};

/// 28 digits of 29 x 29 points; layers of 6 x 13 x 13, 50 x 5 x 5, 100 and 10 neurons. Digits and
/// weights are random.
///
/// Source      Simard, Steinkraus, Platt: Best practices for convolutional neural networks, ICDAR
///             2003; the sizes of the weights' arrays follow ispass2009: 50 x 6 x 26 for the second
///             layer, whose last 5 weights in each map are unused.
class Nn : public Workload {
public:
  using Sizes = NnSizes;
  static constexpr SizeOf<NnSizes> kSizes[] = {
      {{.name = "digits", .meaning = "digits to recognise", .most = 1U << 16U}, &NnSizes::digits}};
  static constexpr std::uint32_t kNumLayers = 4;

  Nn(const NnSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;
  Values results() const override { return Values::floats; }

  const NnSizes& sizes() const { return sizes_; }
  const std::array<NnLayer, kNumLayers>& layers() const { return layers_; }

private:
  void allocate(std::uint64_t seed);

  NnSizes sizes_;
  std::array<NnLayer, kNumLayers> layers_{};
};

}  // namespace isthmus::workloads
