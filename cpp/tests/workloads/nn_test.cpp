#include "workloads/evaluation/nn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Nn>& nn() {
  static Recorded<Nn> run(std::make_unique<Nn>(NnSizes(), 1));
  return run;
}

/// One neuron of a layer: a window of `window` x `window` of every input map.
double neuron(const NnLayer& layer, const std::vector<double>& inputs, unsigned map, unsigned row,
              unsigned column, unsigned window) {
  const float* weights = layer.weights.values + map * layer.weights_per_map;
  double sum = static_cast<double>(weights[0]);
  for (unsigned y = 0; y < window; ++y)
    for (unsigned x = 0; x < window; ++x)
      for (unsigned input = 0; input < layer.num_input_maps; ++input) {
        const unsigned place = (input * layer.input_size + row + y) * layer.input_size + column + x;
        // Convolutions store the weights by point, for all maps together; the other layers by map.
        const unsigned weight =
            layer.size > 1 ? (y * window + x) * layer.num_input_maps + input : place;
        sum += inputs[place] * static_cast<double>(weights[1 + weight]);
      }
  return 1.7159 * std::tanh(2.0 / 3.0 * sum);
}

std::vector<double> forward(const NnLayer& layer, const std::vector<double>& inputs) {
  const unsigned window = layer.size > 1 ? 5 : layer.input_size;
  std::vector<double> outputs;
  for (unsigned map = 0; map < layer.num_maps; ++map)
    for (unsigned row = 0; row < layer.size; ++row)
      for (unsigned column = 0; column < layer.size; ++column)
        outputs.push_back(neuron(layer, inputs, map, 2 * row, 2 * column, window));
  return outputs;
}

TEST(Nn, ComputesTheNeuronsThatALayerByLayerLoopComputes) {
  const auto& layers = nn().program.layers();
  const unsigned digit_size = layers[0].input_size * layers[0].input_size;
  for (unsigned digit = 0; digit < NnSizes().digits; ++digit) {
    const float* first = layers[0].inputs.values + digit * digit_size;
    std::vector<double> values(first, first + digit_size);
    for (const NnLayer& layer : layers) {
      values = forward(layer, values);
      for (unsigned i = 0; i < values.size(); ++i)
        ASSERT_NEAR(static_cast<double>(layer.outputs.values[digit * values.size() + i]), values[i],
                    1e-4)
            << "digit " << digit << ", neuron " << i;
    }
  }
}

TEST(Nn, TellsDigitsApart) {
  const NnLayer& last = nn().program.layers().back();
  std::set<float> outputs(last.outputs.values, last.outputs.values + last.outputs.num_elements);
  EXPECT_GT(outputs.size(), 200U);
}

TEST(Nn, IsAsLargeAsTheOriginal) {
  EXPECT_NEAR(nn().counted.upload_kib, 617, 2);  // ispass2009
  EXPECT_NEAR(nn().counted.touched_kib, 876, 5);
  EXPECT_EQ(nn().counted.pages, 1U);
}

TEST(Nn, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(nn().counted.millions(), 68, 1);  // ISPASS'09, Table 1
}

TEST(Nn, HasTheOriginalsGrids) {
  const std::vector<trace::Launch>& launches = nn().program.program().launches;
  const std::uint32_t expected[4][2] = {{6 * 28, 169}, {50 * 28, 25}, {100 * 28, 1}, {10 * 28, 1}};
  ASSERT_EQ(launches.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(launches[i].num_ctas, expected[i][0]);
    EXPECT_EQ(launches[i].threads_per_cta, expected[i][1]);
  }
}

}  // namespace
}  // namespace isthmus::workloads
