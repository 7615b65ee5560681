#include "workloads/modern/kv.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {

KvAttention::KvAttention(const KvAttentionSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  allocate();
  place_blocks(seed);
  fill_blocks(seed);
  describe();
}

std::uint32_t KvAttention::num_blocks() const {
  return std::bit_ceil(sizes_.sequences * max_blocks());
}

void KvAttention::allocate() {
  const std::uint64_t num_queries =
      std::uint64_t{sizes_.sequences} * sizes_.heads * kKvQueries * kKvDimensions;
  arguments_.queries = heap_.allocate<float>("queries", num_queries);
  arguments_.keys =
      heap_.allocate<KvKeyPart>("keys", num_blocks() * key_parts_of_block(sizes_.heads));
  arguments_.values =
      heap_.allocate<KvValuePart>("values", num_blocks() * value_parts_of_block(sizes_.heads));
  arguments_.block_tables =
      heap_.allocate<unsigned>("block_tables", std::uint64_t{sizes_.sequences} * max_blocks());
  arguments_.num_tokens = heap_.allocate<unsigned>("num_tokens", sizes_.sequences);
  arguments_.outputs = heap_.allocate<float>("outputs", num_queries);
  arguments_.num_heads = sizes_.heads;
  arguments_.max_blocks = max_blocks();
}

void KvAttention::place_blocks(std::uint64_t seed) {
  RandomNumbers random(seed);
  const std::vector<std::uint32_t> free = random_permutation(0, num_blocks(), random);
  for (std::uint32_t sequence = 0; sequence < sizes_.sequences; ++sequence) {
    const std::uint32_t num_tokens =
        kFewestTokens + random.below(sizes_.tokens - kFewestTokens + 1);
    arguments_.num_tokens.values[sequence] = num_tokens;
    for (std::uint32_t block = 0; block * kKvBlockTokens < num_tokens; ++block) {
      arguments_.block_tables.values[sequence * max_blocks() + block] = free[used_blocks_.size()];
      used_blocks_.push_back(free[used_blocks_.size()]);
    }
  }
}

void KvAttention::fill_blocks(std::uint64_t seed) {
  RandomNumbers random(~seed);
  std::generate_n(arguments_.queries.values, arguments_.queries.num_elements,
                  [&] { return random.uniform() * 2 - 1; });
  for (const std::uint32_t block : used_blocks_) fill_block(arguments_, block, random);
}

void KvAttention::describe() {
  trace::Launch& step =
      program_.launches.emplace_back(launch("step", sizes_.sequences * sizes_.heads, kKvThreads));
  step.before = {upload(arguments_.queries), upload(arguments_.block_tables),
                 upload(arguments_.num_tokens)};
  for (const std::uint32_t block : used_blocks_) {
    step.before.push_back(
        upload_of_block(arguments_.keys, block, key_parts_of_block(sizes_.heads)));
    step.before.push_back(
        upload_of_block(arguments_.values, block, value_parts_of_block(sizes_.heads)));
  }
  program_.after = {download(arguments_.outputs)};
  finish_program();
}

void KvAttention::reset() {
  std::fill_n(arguments_.outputs.values, arguments_.outputs.num_elements, 0.0F);
}

void KvAttention::run(std::uint32_t /*launch*/, Cta& cta) { kv_attention(cta, arguments_); }

namespace {

std::uint32_t blocks_for(std::uint32_t num_tokens) {
  return (num_tokens + kKvBlockTokens - 1) / kKvBlockTokens;
}

}  // namespace

KvDecode::KvDecode(const KvDecodeSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  allocate();
  place_blocks(seed);
  fill(~seed);
  describe();
}

void KvDecode::allocate() {
  const std::uint32_t max_blocks = blocks_for(sizes_.tokens + sizes_.steps);
  const std::uint64_t num_blocks = std::bit_ceil(sizes_.sequences * max_blocks);
  const std::uint64_t num_queries =
      std::uint64_t{sizes_.sequences} * sizes_.heads * kKvQueries * kKvDimensions;
  arguments_.queries = heap_.allocate<float>("queries", num_queries);
  arguments_.keys =
      heap_.allocate<KvKeyPart>("keys", num_blocks * key_parts_of_block(sizes_.heads));
  arguments_.values =
      heap_.allocate<KvValuePart>("values", num_blocks * value_parts_of_block(sizes_.heads));
  arguments_.block_tables =
      heap_.allocate<unsigned>("block_tables", std::uint64_t{sizes_.sequences} * max_blocks);
  arguments_.num_tokens = heap_.allocate<unsigned>("num_tokens", sizes_.sequences);
  arguments_.outputs = heap_.allocate<float>("outputs", num_queries);
  arguments_.num_heads = sizes_.heads;
  arguments_.max_blocks = max_blocks;
}

/// First the prompts' blocks, then those of each step: a kernel reads no entry of the table before
/// its step.
void KvDecode::place_blocks(std::uint64_t seed) {
  RandomNumbers random(seed);
  const std::uint32_t num_blocks = std::bit_ceil(sizes_.sequences * arguments_.max_blocks);
  const std::vector<std::uint32_t> free = random_permutation(0, num_blocks, random);
  std::size_t next = 0;
  const auto place = [&](std::uint32_t sequence, std::uint32_t index) {
    arguments_.block_tables.values[sequence * arguments_.max_blocks + index] = free[next++];
  };
  for (std::uint32_t sequence = 0; sequence < sizes_.sequences; ++sequence) {
    prompt_tokens_.push_back(kFewestTokens + random.below(sizes_.tokens - kFewestTokens + 1));
    for (std::uint32_t index = 0; index < blocks_for(prompt_tokens_.back()); ++index)
      place(sequence, index);
  }
  prompt_blocks_.assign(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(next));
  for (std::uint32_t step = 0; step < sizes_.steps; ++step)
    for (std::uint32_t sequence = 0; sequence < sizes_.sequences; ++sequence) {
      const std::uint32_t token = prompt_tokens_[sequence] + step;
      if (token % kKvBlockTokens == 0) place(sequence, token / kKvBlockTokens);
    }
}

void KvDecode::fill(std::uint64_t seed) {
  RandomNumbers random(seed);
  const auto any = [&] { return random.uniform() * 2 - 1; };
  first_queries_.resize(arguments_.queries.num_elements);
  first_outputs_.resize(arguments_.outputs.num_elements);
  std::generate(first_queries_.begin(), first_queries_.end(), any);
  std::generate(first_outputs_.begin(), first_outputs_.end(), any);
  for (const std::uint32_t block : prompt_blocks_) fill_block(arguments_, block, random);
}

bool KvDecode::needs_block(std::uint32_t step) const {
  return std::any_of(prompt_tokens_.begin(), prompt_tokens_.end(), [step](std::uint32_t tokens) {
    return (tokens + step) % kKvBlockTokens == 0;
  });
}

std::vector<trace::HostStep> KvDecode::first_uploads() const {
  std::vector<trace::HostStep> steps{upload(arguments_.queries), upload(arguments_.outputs)};
  for (const std::uint32_t block : prompt_blocks_) {
    steps.push_back(upload_of_block(arguments_.keys, block, key_parts_of_block(sizes_.heads)));
    steps.push_back(upload_of_block(arguments_.values, block, value_parts_of_block(sizes_.heads)));
  }
  return steps;
}

void KvDecode::describe() {
  const std::uint32_t num_ctas = sizes_.sequences * sizes_.heads;
  for (std::uint32_t step = 0; step < sizes_.steps; ++step) {
    const std::string number = std::to_string(step + 1);
    trace::Launch& append =
        program_.launches.emplace_back(launch("append " + number, num_ctas, kNumLanes));
    if (step == 0) append.before = first_uploads();
    if (step == 0 || needs_block(step)) append.before.push_back(upload(arguments_.block_tables));
    append.before.push_back(upload(arguments_.num_tokens));
    program_.launches.push_back(launch("attention " + number, num_ctas, kKvThreads));
  }
  program_.after = {download(arguments_.outputs)};
  finish_program();
}

/// What earlier runs appended stays in the cache: no kernel reads it before it is written again.
void KvDecode::reset() {
  std::copy(first_queries_.begin(), first_queries_.end(), arguments_.queries.values);
  std::copy(first_outputs_.begin(), first_outputs_.end(), arguments_.outputs.values);
  std::copy(prompt_tokens_.begin(), prompt_tokens_.end(), arguments_.num_tokens.values);
}

void KvDecode::before(std::uint32_t launch) {
  if (launch % 2 == 1) return;
  for (std::uint32_t sequence = 0; sequence < sizes_.sequences; ++sequence)
    ++arguments_.num_tokens.values[sequence];
}

void KvDecode::run(std::uint32_t launch, Cta& cta) {
  if (launch % 2 == 0)
    kv_append(cta, arguments_);
  else
    kv_attention(cta, arguments_);
}

}  // namespace isthmus::workloads
