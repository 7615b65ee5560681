#include "workloads/workload.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <isthmus/errors.hpp>

namespace isthmus::workloads {

void Workload::name_program(std::string_view name, std::string_view description, bool synthetic) {
  program_.name = name;
  program_.description = description;
  program_.synthetic = synthetic;
}

trace::Launch Workload::launch(std::string name, std::uint32_t num_ctas,
                               std::uint32_t threads_per_cta) {
  trace::Launch result;
  result.name = std::move(name);
  result.num_ctas = num_ctas;
  result.threads_per_cta = threads_per_cta;
  result.warps_per_cta = (threads_per_cta + kNumLanes - 1) / kNumLanes;
  return result;
}

namespace {

/// The allowed value that is nearest.
std::uint64_t nearest(const Size& size, std::uint64_t value) {
  const std::uint64_t inside = std::clamp<std::uint64_t>(value, size.least, size.most);
  const std::uint64_t below =
      size.power_of_two ? std::bit_floor(inside) : inside / size.multiple * size.multiple;
  const std::uint64_t above = size.power_of_two ? std::bit_ceil(inside)
                              : below == inside ? inside
                                                : below + size.multiple;
  if (below < size.least) return above;
  if (above > size.most) return below;
  return inside - below <= above - inside ? below : above;
}

const Size& named(std::string_view workload, std::span<const Size> sizes, std::string_view name) {
  std::string known;
  for (const Size& size : sizes) {
    if (size.name == name) return size;
    known += (known.empty() ? "" : ", ") + std::string(size.name);
  }
  throw UsageError(std::string(workload) + " has no size \"" + std::string(name) +
                   "\"; it has: " + known);
}

void check(std::string_view workload, const Size& size, std::uint64_t value) {
  if (is_allowed(size, value)) return;
  throw UsageError("the size " + std::string(size.name) + " of " + std::string(workload) +
                   " can't be " + std::to_string(value) + ": it can be " + allowed_text(size) +
                   "; the nearest is " + std::to_string(nearest(size, value)));
}

}  // namespace

bool is_allowed(const Size& size, std::uint64_t value) {
  return value >= size.least && value <= size.most && value % size.multiple == 0 &&
         (!size.power_of_two || std::has_single_bit(value));
}

std::string allowed_text(const Size& size) {
  std::string text = std::to_string(size.least) + " to " + std::to_string(size.most);
  if (size.in_bytes) text += " B";
  if (size.power_of_two) text += ", powers of two";
  if (size.multiple > 1) text += ", multiples of " + std::to_string(size.multiple);
  return text;
}

std::vector<std::uint32_t> size_values(std::string_view workload, std::span<const Size> sizes,
                                       const GivenSizes& given) {
  for (const auto& [name, value] : given) check(workload, named(workload, sizes, name), value);
  std::vector<std::uint32_t> values;
  for (const Size& size : sizes) {
    const auto found = given.find(size.name);
    values.push_back(found == given.end() ? size.usual : static_cast<std::uint32_t>(found->second));
  }
  return values;
}

std::string changed_text(std::span<const Size> sizes, std::span<const std::uint32_t> values) {
  std::string text;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (values[i] == sizes[i].usual) continue;
    text +=
        (text.empty() ? "" : ", ") + std::string(sizes[i].name) + "=" + std::to_string(values[i]);
  }
  return text;
}

}  // namespace isthmus::workloads
