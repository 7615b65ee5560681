#include "workloads/modern/products.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <list>
#include <string>

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

namespace {

constexpr std::uint32_t kLaunchesOfBatch = 3;

/// Experts by popularity; draws are without replacement.
class ExpertLottery {
public:
  ExpertLottery(std::uint32_t num_experts, std::uint32_t skew, RandomNumbers& random)
      : order_(random_permutation(0, num_experts, random)) {
    for (std::uint32_t rank = 1; rank <= num_experts; ++rank)
      tickets_.push_back(std::pow(rank, -static_cast<double>(skew) / 100));
  }

  /// Appends different experts.
  void draw(std::uint32_t num_draws, RandomNumbers& random, std::vector<std::uint32_t>& drawn) {
    std::vector<double> left = tickets_;
    for (std::uint32_t i = 0; i < num_draws; ++i) {
      double sum = 0;
      for (const double tickets : left) sum += tickets;
      const std::size_t rank = find(left, static_cast<double>(random.uniform()) * sum);
      left[rank] = 0;
      drawn.push_back(order_[rank]);
    }
  }

private:
  /// The rank of a ticket; that of the last one that is left if rounding leads beyond it.
  static std::size_t find(const std::vector<double>& left, double ticket) {
    std::size_t last = 0;
    for (std::size_t rank = 0; rank < left.size(); ++rank) {
      if (left[rank] == 0) continue;
      last = rank;
      if (ticket < left[rank]) break;
      ticket -= left[rank];
    }
    return last;
  }

  std::vector<std::uint32_t> order_;
  std::vector<double> tickets_;
};

/// What a programmer has on the GPU: the experts that were used last.
class ExpertCache {
public:
  explicit ExpertCache(std::uint32_t most) : most_(most) {}

  /// Uses an expert; false if it has to be copied first.
  bool use(std::uint32_t expert) {
    const auto found = std::find(kept_.begin(), kept_.end(), expert);
    const bool was_there = found != kept_.end();
    if (was_there) kept_.erase(found);
    kept_.push_front(expert);
    if (kept_.size() > most_) kept_.pop_back();
    return was_there;
  }

private:
  std::uint32_t most_;
  std::list<std::uint32_t> kept_;  // the last used first
};

/// A bfloat16 in (-scale, scale), as bits.
unsigned short small_number(RandomNumbers& random, float scale) {
  const float value = (random.uniform() * 2 - 1) * scale;
  return static_cast<unsigned short>(std::bit_cast<std::uint32_t>(value) >> 16U);
}

}  // namespace

Moe::Moe(const MoeSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  allocate();
  choose(seed);
  make_tiles();
  fill(~seed);
  describe();
}

std::uint64_t Moe::parts_of_expert() const {
  return std::uint64_t{3} * sizes_.inner * (sizes_.width / 8);
}

void Moe::allocate() {
  arguments_.weights = heap_.allocate<MoePart>("experts", sizes_.experts * parts_of_expert());
  const std::uint64_t slots = slots_of_batch();
  arguments_.inputs = heap_.allocate<float>("inputs", std::uint64_t{sizes_.tokens} * sizes_.width);
  arguments_.hidden = heap_.allocate<float>("hidden", slots * sizes_.inner);
  arguments_.parts = heap_.allocate<float>("parts", slots * sizes_.width);
  arguments_.outputs =
      heap_.allocate<float>("outputs", std::uint64_t{sizes_.tokens} * sizes_.width);
  arguments_.chosen = sizes_.chosen;
  arguments_.width = sizes_.width;
  arguments_.inner = sizes_.inner;
}

void Moe::choose(std::uint64_t seed) {
  RandomNumbers random(seed);
  ExpertLottery lottery(sizes_.experts, sizes_.skew, random);
  for (std::uint32_t token = 0; token < sizes_.batches * sizes_.tokens; ++token)
    lottery.draw(sizes_.chosen, random, choices_);
}

void Moe::make_tiles() {
  const std::uint32_t num_slots = slots_of_batch();
  for (std::uint32_t batch = 0; batch < sizes_.batches; ++batch) {
    std::vector<std::vector<std::uint32_t>> slots(sizes_.experts);
    for (std::uint32_t slot = 0; slot < num_slots; ++slot)
      slots[choices_[batch * num_slots + slot]].push_back(slot);
    std::vector<MoeTile>& tiles = tiles_.emplace_back();
    for (std::uint32_t expert = 0; expert < sizes_.experts; ++expert)
      for (std::size_t first = 0; first < slots[expert].size(); first += kMoeTokens) {
        const std::size_t count = std::min<std::size_t>(kMoeTokens, slots[expert].size() - first);
        MoeTile& tile = tiles.emplace_back();
        tile.expert = expert;
        tile.num_slots = static_cast<unsigned>(count);
        std::copy_n(slots[expert].begin() + static_cast<std::ptrdiff_t>(first), count, tile.slots);
        std::fill_n(tile.shares, count, 1 / static_cast<float>(sizes_.chosen));
      }
  }
}

/// Only experts that a token chooses have weights other than zero: the others are never read.
void Moe::fill(std::uint64_t seed) {
  RandomNumbers random(seed);
  std::vector<bool> is_chosen(sizes_.experts);
  for (const std::uint32_t expert : choices_) is_chosen[expert] = true;
  const float scale = 1 / std::sqrt(static_cast<float>(sizes_.width));
  for (std::uint32_t expert = 0; expert < sizes_.experts; ++expert) {
    if (!is_chosen[expert]) continue;
    MoePart* parts = arguments_.weights.values + expert * parts_of_expert();
    std::for_each_n(parts, parts_of_expert(), [&](MoePart& part) {
      for (unsigned short& value : part.values) value = small_number(random, scale);
    });
  }
  inputs_.resize(std::size_t{sizes_.batches} * sizes_.tokens * sizes_.width);
  std::generate(inputs_.begin(), inputs_.end(), [&] { return random.uniform() * 2 - 1; });
}

void Moe::describe() {
  using Kind = trace::HostStep::Kind;
  ExpertCache cache(sizes_.cached);
  for (std::uint32_t batch = 0; batch < sizes_.batches; ++batch) {
    const auto num_tiles = static_cast<std::uint32_t>(tiles_[batch].size());
    const std::string number = std::to_string(batch + 1);
    std::vector<trace::HostStep> before;
    if (batch > 0) before.push_back(download(arguments_.outputs));
    before.push_back(upload(arguments_.inputs));
    for (std::uint32_t i = 0; i < num_tiles; ++i) {
      const std::uint32_t expert = tiles_[batch][i].expert;
      if (i > 0 && tiles_[batch][i - 1].expert == expert) continue;
      const std::uint64_t address = arguments_.weights.address + expert * bytes_of_expert();
      if (!cache.use(expert)) before.push_back({Kind::upload_again, address, bytes_of_expert()});
    }
    program_.launches.push_back(
        launch("hidden " + number, num_tiles * (sizes_.inner / kMoeRows), kMoeThreads));
    program_.launches.back().before = before;
    program_.launches.push_back(
        launch("down " + number, num_tiles * (sizes_.width / kMoeRows), kMoeThreads));
    program_.launches.push_back(
        launch("outputs " + number, sizes_.tokens * (sizes_.width / kMoeThreads), kMoeThreads));
  }
  program_.after = {download(arguments_.outputs)};
  finish_program();
}

void Moe::reset() {
  for (const Array<float>& array :
       {arguments_.inputs, arguments_.hidden, arguments_.parts, arguments_.outputs})
    std::fill_n(array.values, array.num_elements, 0.0F);
}

void Moe::before(std::uint32_t launch) {
  const std::uint32_t batch = launch / kLaunchesOfBatch;
  arguments_.tiles = tiles_[batch].data();
  if (launch % kLaunchesOfBatch != 0) return;
  const std::uint64_t count = arguments_.inputs.num_elements;
  std::copy_n(inputs_.begin() + static_cast<std::ptrdiff_t>(batch * count), count,
              arguments_.inputs.values);
}

void Moe::run(std::uint32_t launch, Cta& cta) {
  switch (launch % kLaunchesOfBatch) {
    case 0:
      return moe_hidden(cta, arguments_);
    case 1:
      return moe_down(cta, arguments_);
    default:
      return moe_outputs(cta, arguments_);
  }
}

}  // namespace isthmus::workloads
