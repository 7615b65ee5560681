#include "trace/accelsim_header.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "trace/checking.hpp"
#include "trace/text_reader.hpp"

namespace isthmus::trace {
namespace {

// Mangled names of templates are long; this limits what a corrupt file can make us store.
constexpr std::size_t kMaxNameLetters = 4096;
constexpr std::uint64_t kMaxCtas = std::numeric_limits<std::uint32_t>::max();

std::string_view without_spaces_around(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::uint64_t volume(const GridPosition& size, std::uint64_t most, const char* what) {
  for (const std::uint64_t side : {size.x, size.y, size.z}) {
    if (side == 0 || side > most) {
      throw UsageError(std::string(what) + " has a side of " + std::to_string(side));
    }
  }
  // Each is below 2^32: two of them can't overflow.
  if (size.x * size.y > most || size.x * size.y * size.z > most) {
    throw UsageError(std::string(what) + " is larger than " + std::to_string(most));
  }
  return size.x * size.y * size.z;
}

/// The whole part: one tracer's version is 1.2, all others' are whole numbers.
std::uint64_t parse_tracer_version(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::uint64_t version = whole_decimal(text.substr(0, dot), "tracer version");
  if (dot < text.size()) whole_decimal(text.substr(dot + 1), "tracer version");
  if (version == 0 || version > kLastTracerVersion) {
    throw UsageError("the trace is of version " + shown(text) + " of the tracer; versions 1 to " +
                     std::to_string(kLastTracerVersion) + " are read");
  }
  return version;
}

struct SmLimits {
  std::uint64_t binary_version;
  std::uint64_t shared_bytes;
};

constexpr std::uint64_t kKib = 1024;
// All of them have 64 Ki registers in an SM.
constexpr auto kSmLimits = std::to_array<SmLimits>({
    {35, 48 * kKib},
    {37, 112 * kKib},
    {50, 64 * kKib},
    {52, 96 * kKib},
    {60, 64 * kKib},
    {61, 96 * kKib},
    {70, 96 * kKib},
    {75, 64 * kKib},
    {80, 164 * kKib},
    {86, 100 * kKib},
    {87, 164 * kKib},
    {89, 100 * kKib},
    {90, 228 * kKib},
    {100, 228 * kKib},
    {120, 100 * kKib},
});
constexpr auto kUsualLines =
    std::to_array<std::string_view>({"kernel name", "shmem", "nregs", "binary version",
                                     "cuda stream id", "shmem base_addr", "local mem base_addr"});
constexpr std::uint64_t kRegistersPerSm = 64 * kKib;
// Registers are allocated to a warp in multiples of this.
constexpr std::uint64_t kRegisterStep = 256;

}  // namespace

GridPosition parse_position(std::string_view text, const char* what) {
  text = without_spaces_around(text);
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::array<std::uint64_t, 3> sides{};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const std::size_t comma = std::min(text.find(','), text.size());
    sides[i] = whole_decimal(without_spaces_around(text.substr(0, comma)), what);
    if ((comma == text.size()) != (i + 1 == sides.size())) {
      throw UsageError(std::string(what) + " has not three sides");
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return {sides[0], sides[1], sides[2]};
}

void KernelHeader::parse_line(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    throw UsageError("the header's line '" + shown(line) + "' has no '='");
  }
  const std::string_view key = without_spaces_around(line.substr(1, equals - 1));
  const std::string_view value = without_spaces_around(line.substr(equals + 1));
  const auto* const usual = std::ranges::find(kUsualLines, key);
  const unsigned bit = 1U << static_cast<unsigned>(usual - kUsualLines.begin());
  if (usual != kUsualLines.end()) given |= bit;
  if (key == "kernel name") name = shown(value, kMaxNameLetters);
  if (key == "grid dim") grid = parse_position(value, "grid dim");
  if (key == "block dim") block = parse_position(value, "block dim");
  if (key == "shmem") shared_bytes = whole_decimal(value, "shmem");
  if (key == "nregs") registers_per_thread = whole_decimal(value, "nregs");
  if (key == "nregs" && registers_per_thread == 0) given &= ~bit;
  if (key == "binary version") binary_version = whole_decimal(value, "binary version");
  if (key == "cuda stream id") stream = whole_decimal(value, "cuda stream id");
  if (key == "accelsim tracer version") tracer_version = parse_tracer_version(value);
  if (key == "enable lineinfo") has_source_lines = whole_decimal(value, "enable lineinfo") != 0;
  if (key == "shmem base_addr") shared_base = whole_hexadecimal(value, "shmem base_addr");
  if (key == "local mem base_addr") local_base = whole_hexadecimal(value, "local mem base_addr");
}

std::uint32_t KernelHeader::num_absent_lines() const {
  return static_cast<std::uint32_t>(kUsualLines.size()) -
         static_cast<std::uint32_t>(std::popcount(given));
}

bool KernelHeader::is_of_known_gpu() const {
  return std::ranges::find(kSmLimits, binary_version, &SmLimits::binary_version) != kSmLimits.end();
}

Launch KernelHeader::launch() const {
  if (grid == GridPosition{}) throw UsageError("the header has no '-grid dim'");
  if (block == GridPosition{}) throw UsageError("the header has no '-block dim'");
  volume(grid, kMaxCtas, "grid dim");
  Launch launch;
  launch.name = name;
  launch.threads_per_cta =
      static_cast<std::uint32_t>(volume(block, kMaxThreadsPerCta, "block dim"));
  launch.warps_per_cta = (launch.threads_per_cta + kThreadsPerWarp - 1) / kThreadsPerWarp;
  launch.max_ctas_per_sm = max_ctas_per_sm(*this, launch.warps_per_cta);
  return launch;
}

std::uint32_t max_ctas_per_sm(const KernelHeader& header, std::uint32_t warps_per_cta) {
  const auto* const limits =
      std::ranges::find(kSmLimits, header.binary_version, &SmLimits::binary_version);
  if (limits == kSmLimits.end()) return 0;
  std::uint64_t most = 0;
  const auto limit = [&most](std::uint64_t there_is, std::uint64_t needed) {
    if (needed == 0) return;
    const std::uint64_t fit = std::max<std::uint64_t>(there_is / needed, 1);
    most = most == 0 ? fit : std::min(most, fit);
  };
  limit(limits->shared_bytes, header.shared_bytes);
  const std::uint64_t registers =
      std::min(header.registers_per_thread, kRegistersPerSm) * kThreadsPerWarp;
  limit(kRegistersPerSm,
        (registers + kRegisterStep - 1) / kRegisterStep * kRegisterStep * warps_per_cta);
  return static_cast<std::uint32_t>(most);
}

}  // namespace isthmus::trace
