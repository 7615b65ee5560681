#include "workloads/modern/gemm.hpp"

#include <algorithm>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

void fill(const Array<GemmPart>& matrix, RandomNumbers& random) {
  for (std::uint64_t part = 0; part < matrix.num_elements; ++part)
    for (float& value : matrix.values[part].values) value = random.uniform() * 2 - 1;
}

}  // namespace

Gemm::Gemm(const GemmSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  arguments_.left = heap_.allocate<GemmPart>("left", std::uint64_t{sizes.rows} * sizes.depth / 4);
  arguments_.right =
      heap_.allocate<GemmPart>("right", std::uint64_t{sizes.depth} * sizes.columns / 4);
  arguments_.product =
      heap_.allocate<GemmPart>("product", std::uint64_t{sizes.rows} * sizes.columns / 4);
  arguments_.depth = sizes.depth;
  arguments_.num_columns = sizes.columns;
  RandomNumbers random(seed);
  fill(arguments_.left, random);
  fill(arguments_.right, random);
  trace::Launch& multiply = program_.launches.emplace_back(
      launch("multiply", sizes.rows / kGemmTile * (sizes.columns / kGemmTile), kGemmThreads));
  multiply.before = {upload(arguments_.left), upload(arguments_.right)};
  program_.after = {download(arguments_.product)};
  finish_program();
}

void Gemm::reset() {
  std::fill_n(arguments_.product.values, arguments_.product.num_elements, GemmPart{});
}

void Gemm::run(std::uint32_t /*launch*/, Cta& cta) { gemm_tile(cta, arguments_); }

}  // namespace isthmus::workloads
