#include "tables.hpp"

namespace {

constexpr double kTolerance = 0.03;  // issue 4: never slower by more than 3 % or 0.3 us
constexpr double kToleranceSeconds = 0.3e-6;
constexpr std::size_t kVerifiedAlwaysBytes = 64 * kMib;

bool slower(double ours, double theirs) {
  return ours > theirs * (1 + kTolerance) && ours > theirs + kToleranceSeconds;
}

Row point(Arena& arena, Way way, Host kind, std::size_t size_bytes) {
  const Task ours = arena.ours(way, kind, size_bytes);
  const Task theirs = arena.theirs(way, kind, size_bytes);
  std::vector<double> seconds = medians({ours, theirs});
  Row row;
  row.add("direction", std::string(name_of(way)))
      .add("kind", std::string(name_of(kind)))
      .add("bytes", size_bytes);
  const bool doubtful = slower(seconds[0], seconds[1]);
  if (doubtful) {
    row.add("first_isthmus_s", seconds[0]).add("first_rival_s", seconds[1]);
    seconds = medians({ours, theirs}, {.num_rounds = 101, .max_seconds = 2});
  }
  row.add("isthmus_s", seconds[0])
      .add("rival_s", seconds[1])
      .add("slower", slower(seconds[0], seconds[1]));
  const bool power_of_two = (size_bytes & (size_bytes - 1)) == 0;
  if (power_of_two || size_bytes <= kVerifiedAlwaysBytes) arena.verify(way, kind, size_bytes, ours);
  return row;
}

}  // namespace

std::vector<Row> sweep(Arena& arena) {
  std::vector<Row> rows;
  for (const Way way : {Way::to_device, Way::to_host}) {
    for (const Host kind : {Host::pageable, Host::pinned}) {
      for (std::size_t size_bytes = 1; size_bytes <= arena.max_bytes(); size_bytes *= 2) {
        rows.push_back(point(arena, way, kind, size_bytes));
        const std::size_t between = size_bytes + size_bytes / 2;
        if (size_bytes > 1 && between <= arena.max_bytes())
          rows.push_back(point(arena, way, kind, between));
      }
    }
  }
  return rows;
}

std::vector<Row> large_copies(Arena& arena) {
  std::vector<Row> rows;
  for (const Way way : {Way::to_device, Way::to_host}) {
    for (std::size_t size_bytes = 64 * kKib; size_bytes <= arena.max_bytes(); size_bytes *= 4)
      rows.push_back(point(arena, way, Host::pageable, size_bytes));
  }
  return rows;
}
