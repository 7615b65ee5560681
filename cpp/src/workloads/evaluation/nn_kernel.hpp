// A convolutional network that recognises handwritten digits: two layers of 5 x 5 convolutions with
// stride 2, then two fully connected ones. A launch computes one layer of all digits.
#pragma once

#include "workloads/recording/array.hpp"
#include "workloads/recording/kernel_math.hpp"

namespace isthmus::workloads {

/// A layer: its inputs, weights and outputs.
struct NnLayer {
  Array<float> inputs;   ///< [digits][input maps][input size][input size]
  Array<float> weights;  ///< for each map or neuron: the bias, then its inputs'; see nn.hpp
  Array<float> outputs;  ///< [digits][maps][size][size]
  unsigned num_maps;
  unsigned size;  ///< side of an output map
  unsigned num_input_maps;
  unsigned input_size;
  unsigned weights_per_map;
};

inline constexpr unsigned kNnWindow = 5;
inline constexpr unsigned kNnStep = 2;

// Instructions of a thread, calibrated: ISPASS'09 counts 68 M in total.
inline constexpr unsigned kNnSetUp = 22;   ///< indices, bias, and the sigmoid at the end
inline constexpr unsigned kNnProduct = 5;  ///< for a product without its two loads: addresses, loop

/// The activation. Source: LeCun et al., Gradient-based learning applied to document recognition,
/// 1998: 1.7159 tanh(2/3 x).
inline float nn_activation(float sum) { return 1.7159F * tanhf(0.66666667F * sum); }

/// A CTA computes one map of one digit; a thread one neuron of the map.
template <class Cta>
void nn_convolution(Cta& cta, const NnLayer& in) {
  const unsigned map = cta.index() % in.num_maps;
  const unsigned digit = cta.index() / in.num_maps;
  const unsigned input_map_size = in.input_size * in.input_size;
  cta.each_warp([&](auto& warp) {
    const auto column = warp.thread() % in.size * kNnStep;
    const auto row = warp.thread() / in.size * kNnStep;
    unsigned weight = map * in.weights_per_map;
    warp.compute(kNnSetUp);
    auto sum = warp.load(in.weights, warp.lanes(weight++));
    for (unsigned pixel = 0; pixel < kNnWindow * kNnWindow; ++pixel) {
      const auto place = (row + pixel / kNnWindow) * in.input_size + column + pixel % kNnWindow;
      for (unsigned input = 0; input < in.num_input_maps; ++input) {
        const unsigned first = (digit * in.num_input_maps + input) * input_map_size;
        const auto value = warp.load(in.inputs, place + first);
        sum = sum + value * warp.load(in.weights, warp.lanes(weight++));
        warp.compute(kNnProduct);
      }
    }
    const unsigned first = (digit * in.num_maps + map) * in.size * in.size;
    warp.store(in.outputs, warp.thread() + first, warp.map(nn_activation, sum));
  });
}

/// A CTA is a single thread, which computes one neuron of one digit.
template <class Cta>
void nn_connected(Cta& cta, const NnLayer& in) {
  const unsigned neuron = cta.index() % in.num_maps;
  const unsigned digit = cta.index() / in.num_maps;
  cta.each_warp([&](auto& warp) {
    const unsigned first_weight = neuron * in.weights_per_map;
    const unsigned first_input = digit * (in.weights_per_map - 1);
    warp.compute(kNnSetUp);
    auto sum = warp.load(in.weights, warp.lanes(first_weight));
    for (unsigned input = 0; input + 1 < in.weights_per_map; ++input) {
      const auto value = warp.load(in.inputs, warp.lanes(first_input + input));
      sum = sum + value * warp.load(in.weights, warp.lanes(first_weight + 1 + input));
      warp.compute(kNnProduct);
    }
    warp.store(in.outputs, warp.lanes(digit * in.num_maps + neuron), warp.map(nn_activation, sum));
  });
}

}  // namespace isthmus::workloads
