#include "workloads/evaluation/ciphers.hpp"

#include <algorithm>
#include <bit>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kAesInstructions = 28'000'000;  // ISPASS'09, Table 1

/// Multiplies by x in the field of FIPS 197, section 4.2.
constexpr unsigned doubled(unsigned byte) {
  return (byte << 1U ^ ((byte & 0x80U) != 0 ? 0x11BU : 0U)) & 0xFFU;
}

}  // namespace

Aes::Aes(const AesSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const std::uint32_t num_columns = sizes.bytes / 4;
  make_tables();
  arguments_.table = table_.data();
  arguments_.box = box_.data();
  arguments_.plain = heap_.allocate<unsigned>("plain", num_columns);
  arguments_.cipher = heap_.allocate<unsigned>("cipher", num_columns);
  arguments_.keys = heap_.allocate<unsigned>("keys", std::uint64_t{4} * (kAesRounds + 1));
  RandomNumbers random(seed);
  for (std::uint8_t& byte : key_) byte = static_cast<std::uint8_t>(random.below(256));
  expand_key();
  std::generate_n(arguments_.plain.values, num_columns,
                  [&] { return static_cast<unsigned>(random.next()); });
  trace::Launch& blocks =
      program_.launches.emplace_back(launch("blocks", num_columns / kAesThreads, kAesThreads));
  blocks.before = {upload(arguments_.plain), upload(arguments_.keys)};
  program_.after = {download(arguments_.cipher)};
  program_.thread_instructions = kAesInstructions;
  finish_program();
}

void Aes::make_tables() {
  // The powers of 3 are all bytes except 0, and give the inverses.
  std::array<unsigned, 255> powers{};
  std::array<unsigned, 256> logarithms{};
  unsigned power = 1;
  for (unsigned i = 0; i < powers.size(); ++i) {
    powers[i] = power;
    logarithms[power] = i;
    power ^= doubled(power);
  }
  for (unsigned byte = 0; byte < box_.size(); ++byte) {
    const auto inverse =
        static_cast<std::uint8_t>(byte == 0 ? 0 : powers[(255 - logarithms[byte]) % 255]);
    unsigned s = 0x63;
    for (int turn = 0; turn < 5; ++turn) s ^= unsigned{std::rotl(inverse, turn)};
    box_[byte] = static_cast<unsigned char>(s);
    table_[byte] = doubled(s) | s << 8U | s << 16U | (doubled(s) ^ s) << 24U;
  }
}

/// FIPS 197, section 5.2, for columns whose first byte is the lowest.
void Aes::expand_key() {
  unsigned* keys = arguments_.keys.values;
  for (unsigned i = 0; i < kKeyBytes; ++i) keys[i / 4] |= unsigned{key_[i]} << (8U * (i % 4U));
  unsigned constant = 1;
  for (unsigned i = 4; i < arguments_.keys.num_elements; ++i) {
    unsigned word = keys[i - 1];
    if (i % 4 == 0) {
      word = std::rotr(word, 8);
      unsigned replaced = 0;
      for (unsigned shift = 0; shift < 32; shift += 8)
        replaced |= unsigned{box_[word >> shift & 0xFFU]} << shift;
      word = replaced ^ constant;
      constant = doubled(constant);
    }
    keys[i] = keys[i - 4] ^ word;
  }
}

void Aes::reset() { std::fill_n(arguments_.cipher.values, arguments_.cipher.num_elements, 0U); }

void Aes::run(std::uint32_t /*launch*/, Cta& cta) { aes_blocks(cta, arguments_); }

KernelCall Aes::call(std::uint32_t /*launch*/) const {
  KernelCall call = kernel_call("aes_blocks", arguments_);
  add_constant(call, arguments_, arguments_.table, table_.size());
  add_constant(call, arguments_, arguments_.box, box_.size());
  return call;
}

namespace {

constexpr std::uint64_t kStoInstructions = 134'000'000;  // ISPASS'09, Table 1

}  // namespace

Sto::Sto(const StoSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  arguments_.words = heap_.allocate<unsigned>("words", sizes_.windows + kStoWindowWords - 1);
  arguments_.hashes = heap_.allocate<unsigned>("hashes", sizes_.windows);
  RandomNumbers random(seed);
  std::generate_n(arguments_.words.values, arguments_.words.num_elements,
                  [&] { return static_cast<unsigned>(random.next()); });
  trace::Launch& windows = program_.launches.emplace_back(
      launch("windows", sizes_.windows / kThreadsPerCta, kThreadsPerCta));
  windows.before = {upload(arguments_.words)};
  program_.after = {download(arguments_.hashes)};
  program_.thread_instructions = kStoInstructions;
  finish_program();
}

void Sto::reset() { std::fill_n(arguments_.hashes.values, sizes_.windows, 0U); }

void Sto::run(std::uint32_t /*launch*/, Cta& cta) { sto_windows(cta, arguments_); }

KernelCall Sto::call(std::uint32_t /*launch*/) const {
  return kernel_call("sto_windows", arguments_);
}

}  // namespace isthmus::workloads
