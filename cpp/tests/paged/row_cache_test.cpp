// The kernels of a cache of rows, with as many blocks at once as the CPU runs threads: random calls
// against a table that is changed in the same way.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#define ISTHMUS_HOST_KERNELS
#include "row_cache.cu"

namespace {

constexpr uint32_t kRowBytes = 32;
constexpr uint32_t kRowWords = kRowBytes / sizeof(uint4);

/// Who fetches rows: the launch that gives them slots, or a later one.
enum class Fetch { at_once, later, sorted };

struct Shape {
  uint32_t num_rows, num_slots, num_blocks;
  bool has_clock;
  Fetch fetch;
};

/// A table, a cache of it, and what the table would be if nobody cached it.
class Cached {
public:
  explicit Cached(const Shape& shape)
      : num_blocks_(shape.num_blocks),
        sorts_(shape.fetch == Fetch::sorted),
        table(shape.num_rows * kRowWords),
        rows(shape.num_slots * kRowWords),
        map(shape.num_rows),
        keys(shape.num_slots, kIsthmusNobody),
        words((shape.num_slots + 31) / 32 * 32),
        dirty(shape.num_slots),
        jobs(shape.num_slots),
        sorted(shape.num_slots) {
    for (uint32_t i = 0; i < table.size(); ++i) table[i] = {i, i ^ 7U, 0, 1};
    expected = table;
    state.counters[kIsthmusFirstBeyond] = ~uint64_t{0};
    cache = {reinterpret_cast<uint8_t*>(table.data()),
             reinterpret_cast<uint8_t*>(rows.data()),
             map.data(),
             keys.data(),
             words.data(),
             dirty.data(),
             shape.fetch == Fetch::at_once ? nullptr : jobs.data(),
             &state,
             report,
             shape.num_rows,
             shape.num_slots,
             kRowBytes,
             shape.has_clock ? 1U : 0U};
  }

  void on_blocks(const std::function<void()>& kernel) const {
    std::vector<std::thread> blocks;
    for (unsigned block = 0; block < num_blocks_; ++block)
      blocks.emplace_back([&, block] {
        gridDim.x = num_blocks_;
        blockIdx.x = block;
        kernel();
      });
    for (std::thread& block : blocks) block.join();
  }
  std::vector<int32_t> ensure(const std::vector<int64_t>& asked, bool prefetches = false) {
    std::vector<int32_t> slots(asked.size(), -7);
    const IsthmusCacheKeys call{reinterpret_cast<uint64_t>(asked.data()), asked.size(),
                                prefetches ? nullptr : slots.data(), 8};
    on_blocks([&] { isthmus_row_cache_ensure(cache, call); });
    if (cache.jobs != nullptr) fetch();
    return slots;
  }
  void fetch() {
    IsthmusRowCache ready = cache;
    if (sorts_) {
      std::vector<uint32_t> bins(size_t{2} * kIsthmusBins);
      on_blocks([&] { isthmus_row_cache_count(cache, bins.data()); });
      on_blocks([&] { isthmus_row_cache_place(cache, bins.data(), sorted.data()); });
      ready.jobs = sorted.data();
    }
    on_blocks([&] { isthmus_row_cache_fetch(ready); });
  }
  void update(const std::vector<int32_t>& slots, const std::vector<uint4>& values) {
    const IsthmusCacheKeys call{reinterpret_cast<uint64_t>(slots.data()), slots.size(), nullptr, 4};
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    on_blocks([&] { isthmus_row_cache_update(cache, call, bytes); });
  }
  void flush() {
    on_blocks([&] { isthmus_row_cache_flush(cache); });
  }
  bool has_expected(int64_t key, int32_t slot) const {
    return std::equal(rows.begin() + slot * kRowWords, rows.begin() + (slot + 1) * kRowWords,
                      expected.begin() + key * kRowWords, same);
  }
  static bool same(const uint4& one, const uint4& other) {
    return one.x == other.x && one.y == other.y && one.z == other.z && one.w == other.w;
  }

private:
  unsigned num_blocks_;
  bool sorts_;

public:
  std::vector<uint4> table, expected, rows;
  std::vector<uint32_t> map, keys, words;
  std::vector<uint8_t> dirty;
  std::vector<IsthmusCacheJob> jobs, sorted;
  IsthmusCacheState state{};
  volatile uint64_t report[kIsthmusNumCounters]{};
  IsthmusRowCache cache{};
};

class RowCaches : public testing::TestWithParam<Shape> {};

std::vector<int64_t> random_keys(std::mt19937& random, const Shape& shape) {
  std::vector<int64_t> keys(random() % (2 * shape.num_slots) + 1);
  const uint32_t range = random() % 4 == 0 ? shape.num_slots / 2 + 1 : shape.num_rows;
  for (int64_t& key : keys) {
    key = random() % range;
    if (random() % 200 == 0) key = random() % 2 == 0 ? -1 : int64_t{shape.num_rows};
  }
  return keys;
}

/// Every row that found room is there, no two have one slot, and as many found none as must.
void expect_right(const Cached& cached, const Shape& shape, const std::vector<int64_t>& keys,
                  const std::vector<int32_t>& slots) {
  std::set<int64_t> asked, found;
  std::set<int32_t> used;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] < 0 || keys[i] >= shape.num_rows) {
      ASSERT_EQ(slots[i], -1);
      continue;
    }
    asked.insert(keys[i]);
    if (slots[i] == -1) continue;
    ASSERT_LT(static_cast<uint32_t>(slots[i]), shape.num_slots);
    ASSERT_EQ(cached.keys[slots[i]], keys[i]);
    ASSERT_EQ(cached.map[keys[i]], slots[i] + 1U);
    ASSERT_TRUE(cached.has_expected(keys[i], slots[i])) << "key " << keys[i];
    found.insert(keys[i]);
    used.insert(slots[i]);
  }
  ASSERT_EQ(found.size(), std::min<std::size_t>(asked.size(), shape.num_slots));
  ASSERT_EQ(used.size(), found.size());
  ASSERT_EQ(cached.state.busy, 0U);
  ASSERT_EQ(cached.report[kIsthmusUnordered], 0U);
}

/// Stores to some rows of the last call.
void store(Cached& cached, std::mt19937& random, const std::vector<int64_t>& keys,
           const std::vector<int32_t>& slots) {
  std::vector<int32_t> stored;
  std::vector<uint4> values;
  std::set<int32_t> seen;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (random() % 3 != 0 || !seen.insert(slots[i]).second) continue;
    stored.push_back(slots[i]);
    for (uint32_t word = 0; word < kRowWords; ++word) {
      const auto value = static_cast<uint32_t>(random());
      values.push_back({value, value, value, word});
      if (slots[i] >= 0) cached.expected[keys[i] * kRowWords + word] = values.back();
    }
  }
  cached.update(stored, values);
}

TEST_P(RowCaches, GiveWhatTheTableHasInAnyOrderOfCalls) {
  const Shape shape = GetParam();
  Cached cached(shape);
  std::mt19937 random(5);
  std::vector<int64_t> keys;
  std::vector<int32_t> slots;
  for (int call = 0; call < 300; ++call) {
    if (call % 3 == 2) {
      cached.ensure(random_keys(random, shape), true);
      // A prefetch leaves the rows of the call before.
      ASSERT_NO_FATAL_FAILURE(expect_right(cached, shape, keys, slots));
      if (call % 2 == 0) store(cached, random, keys, slots);
    }
    keys = random_keys(random, shape);
    slots = cached.ensure(keys);
    ASSERT_NO_FATAL_FAILURE(expect_right(cached, shape, keys, slots));
    store(cached, random, keys, slots);
  }
  cached.flush();
  EXPECT_TRUE(
      std::equal(cached.table.begin(), cached.table.end(), cached.expected.begin(), Cached::same));
  EXPECT_GT(cached.state.counters[kIsthmusWritten], 0U);
  EXPECT_GT(cached.state.counters[kIsthmusBeyond], 0U);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RowCaches,
                         testing::Values(Shape{200, 50, 4, false, Fetch::at_once},
                                         Shape{200, 50, 4, true, Fetch::at_once},
                                         Shape{1000, 64, 3, false, Fetch::later},
                                         Shape{1000, 64, 3, false, Fetch::sorted},
                                         Shape{200, 50, 4, true, Fetch::sorted},
                                         Shape{40, 40, 4, false, Fetch::at_once},
                                         Shape{100, 1, 2, true, Fetch::at_once}));

TEST(RowCache, KeepsWhatWasUsedLastAndCountsWhatItDid) {
  Cached cached({1000, 32, 1, false, Fetch::at_once});
  std::vector<int64_t> first(32), used(16), others(16);
  for (int i = 0; i < 32; ++i) first[i] = i;
  for (int i = 0; i < 16; ++i) used[i] = 2 * i, others[i] = 500 + i;
  cached.ensure(first);
  cached.ensure(used);
  cached.ensure(others);
  for (int i = 0; i < 16; ++i) {
    EXPECT_NE(cached.map[2 * i], 0U);
    EXPECT_EQ(cached.map[2 * i + 1], 0U);
  }
  EXPECT_EQ(cached.report[kIsthmusCalls], 3U);
  EXPECT_EQ(cached.report[kIsthmusKeys], 64U);
  EXPECT_EQ(cached.report[kIsthmusMissing], 48U);
  EXPECT_EQ(cached.report[kIsthmusFetched], 48U);
  EXPECT_EQ(cached.report[kIsthmusEvicted], 16U);
}

TEST(RowCache, TellsTheFirstKeyBeyondTheTable) {
  Cached cached({100, 32, 2, false, Fetch::at_once});
  EXPECT_EQ(cached.ensure({5, 100, -3, 6})[1], -1);
  EXPECT_EQ(cached.report[kIsthmusBeyond], 2U);
  EXPECT_EQ(cached.report[kIsthmusFirstBeyond], 2U);
  EXPECT_EQ(cached.ensure({5, 6, 7})[0] >= 0, true);
  EXPECT_EQ(cached.report[kIsthmusBeyond], 2U);
}

TEST(RowCache, TellsACallThatRunsBesideAnother) {
  Cached cached({100, 32, 1, false, Fetch::at_once});
  cached.state.busy = 1;  // as the other call has left it
  cached.ensure({1, 2, 3});
  EXPECT_EQ(cached.report[kIsthmusUnordered], 1U);
}

}  // namespace
