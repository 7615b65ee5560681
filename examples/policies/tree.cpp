// The prefetcher of NVIDIA's driver as a policy of one's own: the 64 KiB around a fault, then the
// largest subtree of the page of which more than a threshold is there or asked for. The driver's
// threshold is 51 %; docs/own-policies.md sweeps it.
//
// Source: NVIDIA open-gpu-kernel-modules 595.45.04, uvm_perf_prefetch.c, compute_prefetch_region.
//
//     include=$(python -c 'import isthmus; print(isthmus.__path__[0] + "/include")')
//     c++ -std=c++17 -O2 -shared -fPIC -I$include tree.cpp -o tree.so
//     isthmus sim run bfs -m h100-pcie5 -p tree -p ./tree.so --set policy.unit=4KiB
#include <isthmus/policy.h>

#include <algorithm>
#include <cstdint>

namespace {

class Tree {
public:
  explicit Tree(const isthmus_policy_setup& setup) : setup_(setup) {}

  isthmus_span around(const isthmus_access& access) const {
    const std::uint32_t unit = setup_.bit_bytes;
    const std::uint32_t num_units = setup_.page_bytes / unit;
    std::uint32_t length = std::max(setup_.grow_bytes / unit, 1U);
    std::uint32_t first = access.offset_bytes / unit / length * length;
    isthmus_span best{first * unit, length * unit};
    std::uint64_t num_set = length;  // the block of the fault counts as asked for
    while (length < num_units) {
      const std::uint32_t sibling = first ^ length;
      num_set += count(access.asked, sibling, sibling + length);
      first &= ~length;
      length *= 2;
      if (num_set * 100 > std::uint64_t{length} * setup_.tree_threshold_percent)
        best = {first * unit, length * unit};
    }
    return best;
  }

private:
  static std::uint64_t count(const std::uint64_t* bits, std::uint32_t first, std::uint32_t end) {
    std::uint64_t ones = 0;
    for (std::uint32_t unit = first; unit < end;) {
      if (unit % 64 == 0 && end - unit >= 64) {
        ones += static_cast<std::uint64_t>(__builtin_popcountll(bits[unit / 64]));
        unit += 64;
      } else {
        ones += bits[unit / 64] >> (unit % 64) & 1U;
        unit += 1;
      }
    }
    return ones;
  }

  isthmus_policy_setup setup_;
};

}  // namespace

ISTHMUS_POLICY const isthmus_policy_table* isthmus_policy() {
  static const isthmus_policy_table table = [] {
    isthmus_policy_table made{};
    made.version = ISTHMUS_POLICY_VERSION;
    made.create = [](void*, const isthmus_policy_setup* setup) -> void* {
      return new Tree(*setup);
    };
    made.destroy = [](void* state) { delete static_cast<Tree*>(state); };
    made.on_access = [](void* state, const isthmus_access* access, isthmus_span* spans,
                        std::uint32_t) -> std::uint32_t {
      spans[0] = static_cast<const Tree*>(state)->around(*access);
      return 1;
    };
    return made;
  }();
  return &table;
}
