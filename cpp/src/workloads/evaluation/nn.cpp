#include "workloads/evaluation/nn.hpp"

#include <algorithm>
#include <string>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kPublishedInstructions = 68'000'000;  // ISPASS'09, Table 1
constexpr std::uint32_t kDigitSize = 29;

/// Maps, side of a map, input maps, side of an input map, weights of a map.
constexpr std::uint32_t kShapes[Nn::kNumLayers][5] = {{6, 13, 1, kDigitSize, 26},
                                                      {50, 5, 6, 13, 6 * 26},
                                                      {100, 1, 50, 5, 50 * 5 * 5 + 1},
                                                      {10, 1, 100, 1, 100 + 1}};

void fill(const Array<float>& array, RandomNumbers& random, float least, float span) {
  std::generate_n(array.values, array.num_elements,
                  [&] { return least + span * random.uniform(); });
}

}  // namespace

Nn::Nn(const NnSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  allocate(seed);
  for (std::uint32_t index = 0; index < kNumLayers; ++index) {
    const NnLayer& layer = layers_[index];
    const std::uint32_t threads = index < 2 ? layer.size * layer.size : 1;
    program_.launches.push_back(
        launch("layer " + std::to_string(index + 1), layer.num_maps * sizes_.digits, threads));
  }
  std::vector<trace::HostStep>& before = program_.launches[0].before;
  before.push_back(upload(layers_[0].inputs));
  for (const NnLayer& layer : layers_) before.push_back(upload(layer.weights));
  program_.after = {download(layers_.back().outputs)};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Nn::allocate(std::uint64_t seed) {
  RandomNumbers random(seed);
  Array<float> inputs =
      heap_.allocate<float>("digits", std::uint64_t{sizes_.digits} * kDigitSize * kDigitSize);
  fill(inputs, random, -1, 2);
  for (std::uint32_t index = 0; index < kNumLayers; ++index) {
    const auto& [maps, size, input_maps, input_size, weights] = kShapes[index];
    const std::string number = std::to_string(index + 1);
    NnLayer& layer = layers_[index];
    layer = {inputs, {}, {}, maps, size, input_maps, input_size, weights};
    layer.weights = heap_.allocate<float>("weights " + number, std::uint64_t{maps} * weights);
    layer.outputs = heap_.allocate<float>("neurons " + number,
                                          std::uint64_t{sizes_.digits} * maps * size * size);
    // So small that activations don't saturate, where they would all be equal.
    const float span = 2.0F / static_cast<float>(input_maps * std::min(input_size, kNnWindow));
    fill(layer.weights, random, -span / 2, span);
    inputs = layer.outputs;
  }
}

void Nn::reset() {
  for (const NnLayer& layer : layers_)
    std::fill_n(layer.outputs.values, layer.outputs.num_elements, 0.0F);
}

void Nn::run(std::uint32_t launch, Cta& cta) {
  if (launch < 2)
    nn_convolution(cta, layers_[launch]);
  else
    nn_connected(cta, layers_[launch]);
}

KernelCall Nn::call(std::uint32_t launch) const {
  return kernel_call(launch < 2 ? "nn_convolution" : "nn_connected", layers_[launch]);
}

}  // namespace isthmus::workloads
