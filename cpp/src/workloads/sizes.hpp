// Sizes of a workload's input that can be chosen. Each workload has a struct of them, whose initial
// values are those that it has if none are chosen, and a table kSizes that says what each may be.
// Numbers in comments of workloads are of the usual sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::workloads {

/// What a size is, and the values that it can have: multiples of `multiple` from `least` to `most`,
/// or powers of two.
struct Size {
  std::string_view name;     ///< "nodes"
  std::string_view meaning;  ///< in a few words
  std::uint32_t least = 1;
  std::uint32_t most = 0;
  std::uint32_t multiple = 1;
  bool power_of_two = false;
  bool in_bytes = false;    ///< not a count
  std::uint32_t usual = 0;  ///< the value if none is chosen
};

/// A member of a workload's struct of sizes.
template <class Sizes>
struct SizeOf {
  Size size;  ///< `usual` is left to the struct
  std::uint32_t Sizes::* member;
};

/// Chosen sizes by name.
using GivenSizes = std::map<std::string, std::uint64_t, std::less<>>;

/// Whether a size can have the value.
bool is_allowed(const Size& size, std::uint64_t value);

/// The allowed values in words: "256 to 16777216, multiples of 256".
std::string allowed_text(const Size& size);

/// The values of all sizes, in their order.
///
/// workload    its name, for messages
/// Throws      UsageError for a name that isn't among the sizes, or a value that isn't allowed; the
///             message says what is, and the nearest value
std::vector<std::uint32_t> size_values(std::string_view workload, std::span<const Size> sizes,
                                       const GivenSizes& given);

/// "nodes=131072, edges=8": the values that aren't usual; "" if all are.
std::string changed_text(std::span<const Size> sizes, std::span<const std::uint32_t> values);

}  // namespace isthmus::workloads
