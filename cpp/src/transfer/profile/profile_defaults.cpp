// The initial figures, by kind of link. The origin of each stands beside it:
//
//   first_light  benchmarks/first_light: H100 and H200, PCIe Gen5 x16, 16 cores
//   windows      benchmarks/windows: the same machines
//   prototypes   the prototypes that preceded the project, on such an H100
//   others'      figures published by users, on other GPUs; named beside them
#include <algorithm>
#include <cmath>
#include <functional>

#include "transfer/profile/profile.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

/// Where every curve has a point; includes all bends of the lines below.
constexpr std::size_t kSizes[] = {4,         kKiB,       4 * kKiB,  8 * kKiB,   16 * kKiB,
                                  64 * kKiB, 256 * kKiB, kMiB,      2 * kMiB,   4 * kMiB,
                                  16 * kMiB, 32 * kMiB,  64 * kMiB, 256 * kMiB, 1024 * kMiB};

/// Seconds over bytes with bends: `fixed` seconds, and above each bend's `above_bytes` its rate.
struct Bend {
  std::size_t above_bytes = 0;
  double bytes_per_s = 1e9;
};
struct Bent {
  double fixed_seconds = 0;
  std::vector<Bend> bends;

  double seconds(std::size_t size_bytes) const {
    double total = fixed_seconds;
    for (std::size_t i = 0; i < bends.size() && bends[i].above_bytes < size_bytes; ++i) {
      const bool last = i + 1 == bends.size() || bends[i + 1].above_bytes >= size_bytes;
      const std::size_t end = last ? size_bytes : bends[i + 1].above_bytes;
      total += static_cast<double>(end - bends[i].above_bytes) / bends[i].bytes_per_s;
    }
    return total;
  }
};

// The driver's copies of pageable memory. The shortest, of 4 B, includes completion: H2D 5.5 us
// (first_light), D2H 7.2 us (windows). Up to 64 KiB: 19 us H2D and 15.7 us D2H at 64 KiB (windows,
// three machines).
Bent pageable_upload(std::vector<Bend> bends_from_64_kib) {
  bends_from_64_kib.insert(bends_from_64_kib.begin(), {0, 4.7e9});
  return {5.5e-6, std::move(bends_from_64_kib)};
}
Bent pageable_download(std::vector<Bend> bends_from_64_kib) {
  bends_from_64_kib.insert(bends_from_64_kib.begin(), {0, 7.7e9});
  return {7.2e-6, std::move(bends_from_64_kib)};
}

/// What machines with one kind of link have in common.
struct LinkFigures {
  double pinned_h2d = 0;  ///< bytes/s of the driver's copy of pinned memory
  double pinned_d2h = 0;
  Bent pageable_h2d;  ///< the driver's copy of pageable memory
  Bent pageable_d2h;
  double window_write = 0;  ///< bytes/s of one thread
  double window_read = 0;
  double read_seconds = 0;         ///< of a window's read of up to 1 KiB
  double upload_seconds = 5.5e-6;  ///< of 4 pinned bytes (first_light; D2H: windows)
  double download_seconds = 6.7e-6;
  /// A window's write and its fence: at most 0.22 us up to 64 B (windows).
  double window_write_seconds = 0.22e-6;
  /// The minimum of pinning and freeing 4 KiB (prototypes).
  double pin_seconds = 1200e-6;  ///< of pinning and unpinning for one copy
  /// What staging reaches of the link (prototypes: 0.87 to 0.94).
  double staged_share = 0.85;
  bool modelled = false;  ///< each thread of a window adds its rate, up to the link's
};

/// Gen5 x16. Pinned 55.4 and 55.4 GB/s; pageable H2D at best 16.8 GB/s at 8 MiB, 9 GB/s at 64 MiB,
/// 8.6 GB/s at 1 GiB; D2H 12 GB/s at 2 MiB, 17.9 GB/s at 1 GiB (all first_light, H200). Window:
/// write 13.1 to 18.1 GB/s by one thread, read 0.78 to 0.98 GB/s, 1.02 to 1.39 us (windows).
LinkFigures gen5() {
  return {55.4e9,
          55.4e9,
          pageable_upload({{64 * kKiB, 16.8e9}, {32 * kMiB, 6.3e9}, {64 * kMiB, 8.6e9}}),
          pageable_download({{64 * kKiB, 12e9}, {2 * kMiB, 17.9e9}}),
          13e9,
          0.78e9,
          1.4e-6};
}

/// Gen4 x16. Others': an RTX 4090's pinned 23.9 and 26.6 GB/s, pageable 18.4 GB/s at 16 MiB
/// and 12.9 at 64 MiB H2D, 12.3 D2H (cuda-oxide#976); an A100's window writes up to 20 GB/s
/// (gdrcopy#288). Reads weren't published: between those of Gen3 and Gen5.
LinkFigures gen4() {
  return {23.9e9,
          26.6e9,
          pageable_upload({{64 * kKiB, 18.8e9}, {16 * kMiB, 11.7e9}}),
          pageable_download({{64 * kKiB, 12.3e9}}),
          13e9,
          0.65e9,
          1.7e-6};
}

/// Gen3 x16. Others': a V100's pinned 12 and pageable 6 GB/s (dask-cuda#98), window writes of 9.6
/// and reads of 0.53 GB/s (GDRCopy's README).
LinkFigures gen3() {
  return {12e9,
          12e9,
          pageable_upload({{64 * kKiB, 6e9}}),
          pageable_download({{64 * kKiB, 6e9}}),
          8.4e9,
          0.5e9,
          2.0e-6};
}

/// Gen6 x16: no published figures. Twice Gen5 for pinned memory, as the standard has it; what one
/// CPU core does stays the same.
LinkFigures gen6() {
  LinkFigures figures = gen5();
  figures.pinned_h2d *= 2;
  figures.pinned_d2h *= 2;
  return figures;
}

/// NVLink-C2C. Others': a GH200's pinned 97 and pageable 93 GB/s (vortex#7815). The rest as Gen5.
LinkFigures nvlink_c2c() {
  LinkFigures figures = gen5();
  figures.pinned_h2d = figures.pinned_d2h = 97e9;
  figures.pageable_h2d.bends = figures.pageable_d2h.bends = {{0, 93e9}};
  return figures;
}

/// The emulated driver's profile `small` (cpp/emulator/src/machine/profiles.cpp): modelled figures.
LinkFigures emulated() {
  const double latency = 10e-6;
  return {.pinned_h2d = 3e9,
          .pinned_d2h = 3e9,
          .pageable_h2d = {latency, {{0, 1e9}}},
          .pageable_d2h = {latency, {{0, 1e9}}},
          .window_write = 1.2e9,
          .window_read = kKiB / (2e-6),
          .read_seconds = 2e-6,
          .upload_seconds = latency,
          .download_seconds = latency,
          .window_write_seconds = 0.25e-6,
          .pin_seconds = 91e-6,
          .staged_share = 0.95,
          .modelled = true};
}

LinkFigures figures_of_sixteen_lanes(const LinkClass& link) {
  if (link.kind == LinkClass::Kind::emulated) return emulated();
  if (link.kind == LinkClass::Kind::nvlink_c2c) return nvlink_c2c();
  if (link.generation >= 6) return gen6();
  if (link.generation == 5) return gen5();
  if (link.generation == 4) return gen4();
  return gen3();
}

/// With fewer lanes, or a link older than Gen3, no path is faster than the link.
LinkFigures figures_of(const LinkClass& link) {
  LinkFigures figures = figures_of_sixteen_lanes(link);
  if (link.kind != LinkClass::Kind::pcie) return figures;
  double share = std::min(1.0, link.width / 16.0);
  // Each generation doubles the rate; the figures above begin with Gen3.
  if (link.generation < 3) share /= std::exp2(3 - std::max(1, link.generation));
  figures.pinned_h2d *= share;
  figures.pinned_d2h *= share;
  for (Bend& bend : figures.pageable_h2d.bends)
    bend.bytes_per_s = std::min(bend.bytes_per_s, figures.pinned_h2d);
  for (Bend& bend : figures.pageable_d2h.bends)
    bend.bytes_per_s = std::min(bend.bytes_per_s, figures.pinned_d2h);
  // Write-combined stores reach 0.7 to 0.8 of the link on Gen3 (gen3() above).
  figures.window_write = std::min(figures.window_write, 0.7 * figures.pinned_h2d);
  figures.window_read = std::min(figures.window_read, 0.7 * figures.pinned_d2h);
  return figures;
}

Bent window_write(const LinkFigures& link) {
  return {link.window_write_seconds, {{0, link.window_write}}};
}

/// Two threads of the emulated driver's windows: they share copies from 32 KiB on, which then take
/// no longer (1e18 bytes/s) until there are as many bytes as the link carries meanwhile.
Bent modelled_write_threads(const LinkFigures& link) {
  const std::size_t shared_bytes = 32 * kKiB;
  const double together = std::min(2 * link.window_write, link.pinned_h2d);
  const double as_many = shared_bytes * together / link.window_write;
  return {link.window_write_seconds,
          {{0, link.window_write},
           {shared_bytes, 1e18},
           {static_cast<std::size_t>(as_many), together}}};
}

/// Several threads. They help from 32 KiB on if they are awake. The model: from 16 KiB on 20 GB/s,
/// and from 1 MiB on 24 GB/s, where 24 to 32 GB/s were measured with 2 to 16 threads (windows). On
/// slower links less, in proportion to Gen5.
Bent window_write_threads(const LinkFigures& link, double num_cores) {
  if (num_cores < 2) return window_write(link);
  if (link.modelled) return modelled_write_threads(link);
  const double share = std::min(1.0, link.pinned_h2d / gen5().pinned_h2d);
  return {link.window_write_seconds,
          {{0, link.window_write},
           {16 * kKiB, std::max(link.window_write, 20e9 * share)},
           {kMiB, std::max(link.window_write, 24e9 * share)}}};
}

Bent window_read(const LinkFigures& link) {
  return {link.read_seconds, {{kKiB, link.window_read}}};
}

/// Several threads: at best 1.4 to 1.6 GB/s with 2, 2.5 to 3 with 4, 4.7 to 5.9 with 8, 6.7 to 10
/// with 16 (windows). The model: half of one thread's rate for each, up to 8 of them.
Bent window_read_threads(const LinkFigures& link, double num_cores) {
  const double num_threads = std::clamp(std::floor(num_cores), 1.0, 16.0);
  if (link.modelled)
    return {link.read_seconds,
            {{static_cast<std::size_t>(num_threads) * kKiB,
              std::min(num_threads * link.window_read, link.pinned_d2h)}}};
  return {link.read_seconds, {{kKiB, link.window_read * std::max(1.0, 0.5 * num_threads)}}};
}

/// The staging ring. With 4 cores, uploads reach 29 to 32 GB/s and downloads 53
/// (benchmarks/transfer, H200). The model: 7 and 13 for each thread, with one core left out, and 6
/// for a single thread (prototypes); more than 10 threads gain little. Fixed: waking threads (20 us
/// to start one: window/copy_threads), a first piece of 256 KiB at a core's 11 GB/s, its copy, and
/// one completion: 60 us.
constexpr double kDownloadThread = 13e9;
Bent staged(double link_bytes_per_s, double thread_bytes_per_s, double num_cores) {
  if (num_cores < 2) thread_bytes_per_s = 6e9;
  const double num_threads =
      std::clamp<double>(std::floor(num_cores) - 1, 1, RingThreads::kMaxUseful);
  return {60e-6, {{0, std::min(thread_bytes_per_s * num_threads, link_bytes_per_s)}}};
}

/// Threads of a download: those that take a quarter more than the link gives. More would only burn
/// CPU time waiting for it: on an H100 six take 64 and 256 MiB down as fast as eight and ten, for three
/// quarters and for 0.6 of their CPU time. Source: benchmarks/rhythms/h100/threads.json.
RingThreads ring_threads_for(const LinkFigures& link) {
  const double num_threads = std::ceil(1.25 * link.pinned_d2h / kDownloadThread);
  return {.download =
              static_cast<int>(std::clamp<double>(num_threads, 4, RingThreads::kMaxUseful))};
}

Bent registered(double pin_seconds, double link_bytes_per_s) {
  /// Pinning for one copy: 46 ms/GiB to register 4 KiB pages and 18 to unregister them (prototypes),
  /// then the copy.
  return {pin_seconds,
          {{0, 1 / (64e-3 / static_cast<double>(1024 * kMiB) + 1 / link_bytes_per_s)}}};
}

/// Only whole pages are pinned, and the driver copies the rest: fewer bytes than two pages may have
/// no whole page among them.
CostCurve registered_curve(const Bent& driver, const Bent& pinning) {
  const std::size_t two_pages = 8 * kKiB;
  std::vector<CostPoint> points;
  for (const std::size_t size_bytes : kSizes) {
    const Bent& line = size_bytes < two_pages ? driver : pinning;
    points.push_back({size_bytes, line.seconds(size_bytes)});
  }
  return CostCurve(std::move(points));
}

CostCurve curve_of(const Bent& line) {
  std::vector<CostPoint> points;
  for (const std::size_t size_bytes : kSizes)
    points.push_back({size_bytes, line.seconds(size_bytes)});
  return CostCurve(std::move(points));
}

void add_pageable(std::vector<Profile::Entry>& entries, Direction direction,
                  const LinkFigures& link, double num_cores) {
  const auto pageable = MemoryKind::pageable;
  const bool up = direction == Direction::host_to_device;
  const double rate = up ? link.pinned_h2d : link.pinned_d2h;
  const Bent& driver = up ? link.pageable_h2d : link.pageable_d2h;
  const double thread = up ? 7e9 : kDownloadThread;
  entries.push_back({CopyPath::driver, direction, pageable, curve_of(driver)});
  entries.push_back({CopyPath::staged, direction, pageable,
                     curve_of(staged(link.staged_share * rate, thread, num_cores))});
  entries.push_back({CopyPath::registered, direction, pageable,
                     registered_curve(driver, registered(link.pin_seconds, rate))});
}

/// Windows cost the same for every kind of host memory.
void add_windows(std::vector<Profile::Entry>& entries, Direction direction, const Bent& alone,
                 const Bent& shared) {
  for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned}) {
    entries.push_back({CopyPath::window, direction, kind, curve_of(alone)});
    entries.push_back({CopyPath::window_threads, direction, kind, curve_of(shared)});
  }
}

}  // namespace

double assumed_pause_seconds(CopyPath path, bool emulated) {
  if (emulated) return 0;
  const bool threads = path == CopyPath::staged || path == CopyPath::window_threads;
  // After 3 ms of spinning, of sleep and of work of the GPU, in the median over them; threads have
  // to wake. Source: benchmarks/rhythms (H200).
  return threads ? 50e-6 : 15e-6;
}

Profile Profile::defaults(const ProfileIdentity& identity) {
  const LinkFigures link = figures_of(identity.link);
  const double num_cores = identity.num_cores;
  std::vector<Entry> entries;
  add_pageable(entries, Direction::host_to_device, link, num_cores);
  add_pageable(entries, Direction::device_to_host, link, num_cores);
  entries.push_back({CopyPath::driver, Direction::host_to_device, MemoryKind::pinned,
                     curve_of({link.upload_seconds, {{0, link.pinned_h2d}}})});
  entries.push_back({CopyPath::driver, Direction::device_to_host, MemoryKind::pinned,
                     curve_of({link.download_seconds, {{0, link.pinned_d2h}}})});
  add_windows(entries, Direction::host_to_device, window_write(link),
              window_write_threads(link, num_cores));
  add_windows(entries, Direction::device_to_host, window_read(link),
              window_read_threads(link, num_cores));
  for (Entry& entry : entries)
    entry.pause_seconds = assumed_pause_seconds(entry.path, identity.emulated);
  return Profile(std::move(entries), false, "defaults for " + identity.link.name())
      .with_ring_threads(ring_threads_for(link));
}

}  // namespace isthmus::transfer
