#include <algorithm>

#include <isthmus/errors.hpp>

#include "tables.hpp"

namespace {

using isthmus::CopyPath;

constexpr CopyPath kPaths[] = {CopyPath::window, CopyPath::window_threads, CopyPath::driver,
                               CopyPath::staged, CopyPath::registered};
// A path that once takes three times as long as another one isn't the best.
constexpr double kHopeless = 3;
constexpr double kGood = 1.05;  // issue 4: within 5 % of the best path

/// The paths that are possible here.
std::vector<CopyPath> usable_paths(Arena& arena, Way way, Host kind, std::size_t size_bytes) {
  std::vector<CopyPath> usable;
  for (const CopyPath path : kPaths) {
    isthmus::CopyOptions options;
    options.path = isthmus::name_of(path);
    try {
      arena.ours(way, kind, size_bytes, options)();
      usable.push_back(path);
    } catch (const isthmus::Unavailable&) {
      continue;
    }
  }
  return usable;
}

Row point(Arena& arena, Way way, Host kind, std::size_t size_bytes) {
  const std::vector<CopyPath> paths = usable_paths(arena, way, kind, size_bytes);
  std::vector<Task> tasks;
  for (const CopyPath path : paths) {
    isthmus::CopyOptions options;
    options.path = isthmus::name_of(path);
    tasks.push_back(arena.ours(way, kind, size_bytes, options));
  }
  tasks.push_back(arena.ours(way, kind, size_bytes));
  const std::vector<double> seconds = medians(tasks, {}, kHopeless);

  auto* const there = reinterpret_cast<void*>(arena.device());
  void* const here = arena.host(kind);
  const isthmus::CopyPlan plan = arena.transfers().explain(
      way == Way::to_device ? there : here, way == Way::to_device ? here : there, size_bytes);
  Row row;
  row.add("direction", std::string(name_of(way)))
      .add("kind", std::string(name_of(kind)))
      .add("bytes", size_bytes)
      .add("chosen", std::string(isthmus::name_of(plan.path)));
  // The best of the named paths, which all take the same detour; the call that chooses may avoid
  // it.
  const double best = *std::min_element(seconds.begin(), seconds.end() - 1);
  double chosen = seconds.back();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    row.add(std::string(isthmus::name_of(paths[i])) + "_s", seconds[i]);
    if (paths[i] == plan.path) chosen = seconds[i];
  }
  for (const isthmus::PathCost& cost : plan.costs)
    if (cost.path == plan.path) row.add("predicted_s", cost.seconds);
  return row.add("copy_s", seconds.back())
      .add("chosen_over_best", chosen / best)
      .add("good", chosen <= kGood * best);
}

}  // namespace

std::vector<Row> choice_grid(Arena& arena) {
  std::vector<Row> rows;
  for (const Way way : {Way::to_device, Way::to_host}) {
    for (const Host kind : {Host::pageable, Host::pinned}) {
      for (std::size_t size_bytes = 4; size_bytes <= arena.max_bytes(); size_bytes *= 2)
        rows.push_back(point(arena, way, kind, size_bytes));
    }
  }
  return rows;
}
