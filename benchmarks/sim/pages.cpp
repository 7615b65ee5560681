// The cost of an access to the page table, as JSON: random and sequential lines of tables of any
// size, resident or partial, and the misses that fill them. Usage:
//   sim_pages [NUM_ROUNDS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "pages/page_table.hpp"
#include "pages/policy_names.hpp"
#include "rounds.hpp"
#include "rows.hpp"

namespace {

using isthmus::pages::MigrationPolicy;
using isthmus::pages::Outcome;
using isthmus::pages::PageTable;
using isthmus::pages::PolicyKind;
using isthmus::pages::Span;

constexpr std::size_t kNumAccesses = 1U << 20U;
constexpr std::uint64_t kBase = 0xC0000000;
constexpr std::uint32_t kLineBytes = 128;
constexpr std::uint64_t kMiB = 1U << 20U;

/// A table and the accesses to it.
struct Case {
  std::string name;
  PolicyKind kind = PolicyKind::ranges;
  std::uint32_t page_bytes = 2U << 20U;
  std::uint64_t data_bytes = 0;
  bool resident = false;
  bool in_order = false;
};

std::vector<Case> cases() {
  constexpr std::uint64_t many_bytes = 100'000'000'000;
  return {{"resident, 64 MiB", PolicyKind::ranges, 2U << 20U, 64 * kMiB, true},
          {"resident, 100 GB", PolicyKind::ranges, 2U << 20U, many_bytes, true},
          {"resident, 1 GB of 4 KiB pages", PolicyKind::bitmap, 4096, many_bytes / 100, true},
          {"resident, 100 GB of 4 KiB pages", PolicyKind::bitmap, 4096, many_bytes, true},
          {"resident, 100 GB of 4 KiB pages, in order", PolicyKind::bitmap, 4096, many_bytes, true,
           true},
          {"partial, 64 MiB", PolicyKind::ranges, 2U << 20U, 64 * kMiB},
          {"partial, 64 MiB, in order", PolicyKind::ranges, 2U << 20U, 64 * kMiB, false, true},
          {"partial, 64 MiB, units as bits", PolicyKind::bitmap, 2U << 20U, 64 * kMiB},
          {"partial, 4 GiB", PolicyKind::ranges, 2U << 20U, 4096 * kMiB},
          {"partial, 100 GB", PolicyKind::bitmap, 2U << 20U, many_bytes}};
}

std::vector<std::uint64_t> addresses_of(const Case& one) {
  std::vector<std::uint64_t> addresses(kNumAccesses);
  std::uint64_t state = 1;
  for (std::size_t index = 0; index < kNumAccesses; ++index) {
    // Knuth's MMIX generator: its high bits are random enough.
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t offset = one.in_order ? index * kLineBytes : state >> 20U;
    addresses[index] = kBase + (offset % one.data_bytes & ~std::uint64_t{kLineBytes - 1});
  }
  return addresses;
}

PageTable table_of(const Case& one) {
  MigrationPolicy policy = isthmus::pages::default_policy(one.kind);
  policy.page_bytes = one.page_bytes;
  policy.unit_bytes = 1024;
  PageTable table(policy);
  if (one.resident) table.make_resident(kBase, one.data_bytes);
  return table;
}

/// Makes every access, and immediately the arrivals of the transfers that it starts.
void fill(PageTable& table, const std::vector<std::uint64_t>& addresses) {
  std::vector<Span> transfers;
  for (const std::uint64_t address : addresses) {
    const auto answer = table.request(address, kLineBytes, false);
    if (answer.outcome != Outcome::migrate) continue;
    transfers.assign(answer.transfers.begin(), answer.transfers.end());
    for (const Span transfer : transfers) table.arrived(answer.slot, answer.epoch, transfer);
  }
}

std::size_t num_hits(PageTable& table, const std::vector<std::uint64_t>& addresses) {
  std::size_t num = 0;
  for (const std::uint64_t address : addresses)
    num += table.request(address, kLineBytes, false).outcome == Outcome::hit ? 1 : 0;
  return num;
}

Row measured(const Case& one, std::size_t num_rounds) {
  const std::vector<std::uint64_t> addresses = addresses_of(one);
  PageTable table = table_of(one);
  const double fill_seconds = seconds_of([&] { fill(table, addresses); }, 1);
  std::vector<double> hit_seconds;
  for (std::size_t round = 0; round < num_rounds; ++round) {
    std::size_t hits = 0;
    hit_seconds.push_back(seconds_of([&] { hits = num_hits(table, addresses); }, 1));
    if (hits != kNumAccesses) std::abort();
  }
  const auto nanoseconds = [](double seconds) { return seconds / kNumAccesses * 1e9; };
  Row row;
  row.add("table", one.name).add("hit_ns", nanoseconds(median(hit_seconds)));
  if (!one.resident) row.add("first_pass_ns", nanoseconds(fill_seconds));
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t num_rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 11;
  std::vector<Row> rows;
  for (const Case& one : cases()) rows.push_back(measured(one, num_rounds));
  std::printf("{\"accesses\": %zu, \"rounds\": %zu, \"tables\": %s}\n", kNumAccesses, num_rounds,
              list(rows).c_str());
  return 0;
}
