#include "tables.hpp"

namespace {

constexpr std::size_t kMaxBytes = 64 * kKib;

Row point(Arena& arena, isthmus::Window& window, Way way, std::size_t size_bytes) {
  std::byte* const here = arena.host(Host::pageable);
  const Task itself = way == Way::to_device
                          ? Task([&window, here, size_bytes] { window.write(0, here, size_bytes); })
                          : Task([&window, here, size_bytes] { window.read(here, 0, size_bytes); });
  isthmus::CopyOptions told;
  told.source_kind =
      way == Way::to_device ? isthmus::MemoryKind::pageable : isthmus::MemoryKind::device;
  told.target_kind =
      way == Way::to_device ? isthmus::MemoryKind::device : isthmus::MemoryKind::pageable;
  isthmus::CopyOptions unordered = told;
  unordered.ordered = false;
  const std::vector<double> seconds =
      medians({itself, arena.ours(way, Host::pageable, size_bytes),
               arena.ours(way, Host::pageable, size_bytes, told),
               arena.ours(way, Host::pageable, size_bytes, unordered)},
              {.num_rounds = 101});
  return Row()
      .add("direction", std::string(name_of(way)))
      .add("bytes", size_bytes)
      .add("window_s", seconds[0])
      .add("copy_s", seconds[1])
      .add("copy_kinds_told_s", seconds[2])
      .add("copy_kinds_told_unordered_s", seconds[3]);
}

}  // namespace

std::vector<Row> small_copies(Arena& arena) {
  std::vector<Row> rows;
  isthmus::Window window = arena.transfers().windows().open(arena.device(), kMaxBytes);
  for (const Way way : {Way::to_device, Way::to_host}) {
    for (std::size_t size_bytes = 4; size_bytes <= kMaxBytes; size_bytes *= 2)
      rows.push_back(point(arena, window, way, size_bytes));
  }
  return rows;
}
