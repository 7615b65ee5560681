// What each path costs on one device's link: measured, or assumed from the kind of link.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <isthmus/transfer.hpp>

#include "device/context.hpp"
#include "device/device_facts.hpp"

namespace isthmus::transfer {

/// How many threads a staging ring uses for long copies. Including the caller's; 0: not measured,
/// so as many as pay on most machines.
struct RingThreads {
  int upload = 0;
  int download = 0;

  /// More don't make an H100's copies faster. Source: benchmarks/transfer/h100/ring_stores.json.
  static constexpr int kMaxUseful = 10;

  bool operator==(const RingThreads&) const = default;
};

/// The paths that are counted; the last is one that only many copies take.
inline constexpr std::array kCountedPaths{CopyPath::window,     CopyPath::window_threads,
                                          CopyPath::driver,     CopyPath::staged,
                                          CopyPath::registered, CopyPath::kernel};
inline constexpr std::span kAllPaths = std::span(kCountedPaths).first<kCountedPaths.size() - 1>();

/// True for the paths through a mapping.
constexpr bool is_window(CopyPath path) noexcept {
  return path == CopyPath::window || path == CopyPath::window_threads;
}

/// A kind of link between host and device. Links of one kind have similar figures.
struct LinkClass {
  enum class Kind { pcie, nvlink_c2c, emulated };
  Kind kind = Kind::pcie;
  int generation = 4;  ///< of PCIe: 3 to 6
  int width = 16;      ///< of PCIe: lanes

  bool operator==(const LinkClass&) const = default;
  /// "PCIe Gen5 x16", "NVLink-C2C", "emulated link"
  std::string name() const;
};

/// The machine that a profile belongs to.
struct ProfileIdentity {
  bool emulated = false;
  std::string gpu_uuid;
  std::string gpu_name;
  LinkClass link;
  int cuda_version = 0;        ///< of the driver: 13000
  std::string driver_release;  ///< "580.159.04"; "" if unknown
  std::string cpu_model;       ///< "" if unknown
  double num_cores = 1;        ///< available for copies: host::effective_cores()
};

/// Reads it from the machine. A PCIe link that the kernel doesn't describe counts as Gen4 x16.
///
/// root        "/" on a real machine
ProfileIdentity identity_of(const DeviceFacts& device, double num_cores, bool emulated,
                            const std::filesystem::path& root = "/");

/// The name of the profile's file, by GPU and link: a GPU that is moved to another slot gets
/// another file.
std::string profile_file_name(const ProfileIdentity& identity);

enum class Direction { host_to_device, device_to_host };

struct CostPoint {
  std::size_t size_bytes = 0;
  double seconds = 0;
};

/// Seconds over bytes, piecewise linear. Below the first point: the first point's cost. Beyond the
/// last: the slope of the last two points, but at least proportional to the last.
class CostCurve {
public:
  CostCurve() = default;
  /// points      ascending in size, not empty, seconds > 0
  /// Throws      UsageError otherwise.
  explicit CostCurve(std::vector<CostPoint> points);
  double seconds(std::size_t size_bytes) const noexcept;
  const std::vector<CostPoint>& points() const noexcept { return points_; }

private:
  std::vector<CostPoint> points_;
};

/// What copies take longer after a pause, when threads sleep and caches are cold: the median over
/// the sizes that were measured. It hardly depends on the size, and the figures of one size on an
/// otherwise busy machine differ by more. At least 0.
///
/// back_to_back  what the copies take without a pause
/// after_pause   what they take after one; not empty, ascending in size, seconds > 0
/// Throws        UsageError otherwise.
double pause_seconds_of(const CostCurve& back_to_back, const std::vector<CostPoint>& after_pause);

/// The same of a path if nobody has measured it.
double assumed_pause_seconds(CopyPath path, bool emulated);

/// How many times cheaper than the driver's copy a path must be to be taken, so that a wrong prediction
/// doesn't make a copy slower than cudaMemcpy.
double margin_of(CopyPath path) noexcept;

/// The longest text of a profile: some hundred times as long as what `isthmus profile` writes.
inline constexpr std::size_t kMaxProfileBytes = std::size_t{4} << 20U;

/// The cost curves of one device's link. Immutable.
class Profile {
public:
  struct Entry {
    CopyPath path = CopyPath::driver;
    Direction direction = Direction::host_to_device;
    MemoryKind host_kind = MemoryKind::pageable;  ///< pageable or pinned
    CostCurve curve;                              ///< of copies that follow each other
    double pause_seconds = 0;                     ///< what is added to it after a pause
  };

  /// source      its origin, for explain(): "defaults for PCIe Gen5 x16"
  Profile(std::vector<Entry> entries, bool measured, std::string source);
  Profile(std::vector<Entry> entries, bool measured, std::string source,
          double window_opening_seconds);

  /// Null: the path wasn't measured, so it isn't used.
  const CostCurve* curve(CopyPath path, Direction direction, MemoryKind host_kind) const noexcept;
  /// What that path takes longer after a pause; 0 if it wasn't measured.
  double pause_seconds(CopyPath path, Direction direction, MemoryKind host_kind) const noexcept;
  bool measured() const noexcept { return measured_; }
  const std::string& source() const noexcept { return source_; }
  /// The same figures with another origin.
  Profile with_source(std::string source) const {
    Profile copy = *this;
    copy.source_ = std::move(source);
    return copy;
  }
  /// The same figures with these threads.
  Profile with_ring_threads(const RingThreads& threads) const {
    Profile copy = *this;
    copy.ring_threads_ = threads;
    return copy;
  }
  /// For staged copies: the thread counts with which their costs were measured.
  const RingThreads& ring_threads() const noexcept { return ring_threads_; }
  /// Seconds to open a window on a buffer: one is opened only when it has paid for them.
  double window_opening_seconds() const noexcept { return window_opening_seconds_; }

  /// Conservative figures for the device's kind of link and this number of cores: the driver's
  /// copies as fast as measured at best, the other paths as slow as measured at worst.
  static Profile defaults(const DeviceFacts& device, double num_cores, bool emulated);
  static Profile defaults(const ProfileIdentity& identity);

  /// Reads a file from `isthmus profile`. If fewer cores are available than when it was measured,
  /// paths with several threads get the costs of the defaults if those are higher.
  ///
  /// Throws      UsageError if it isn't a profile (any bytes are safe: no JSON, deep nesting,
  ///             longer than kMaxProfileBytes, a member twice), if it belongs to another GPU, link,
  ///             driver or schema, or if exactly one of the profile and this driver is emulated.
  static Profile parse(std::string_view json, const DeviceFacts& device, bool emulated);
  static Profile parse(std::string_view json, const ProfileIdentity& identity);

  /// The stored profile of this device if there is a matching one ($ISTHMUS_PROFILE: a file, or
  /// "off"), else the defaults. Never throws for a file that doesn't match: source() says why it
  /// isn't used.
  static Profile for_device(const DeviceFacts& device, double num_cores, bool emulated);
  static Profile for_device(const ProfileIdentity& identity);

  /// Directions and kinds of memory of each path.
  static constexpr std::size_t kNumWays = kAllPaths.size() * 2 * 2;
  /// A number below kNumWays. Every kind of memory that isn't pinned counts as pageable.
  static constexpr std::size_t way_of(CopyPath path, Direction direction,
                                      MemoryKind host_kind) noexcept {
    const auto kind = static_cast<std::size_t>(host_kind == MemoryKind::pinned);
    return (static_cast<std::size_t>(path) * 2 + static_cast<std::size_t>(direction)) * 2 + kind;
  }

private:
  const Entry* entry(CopyPath path, Direction direction, MemoryKind host_kind) const noexcept;

  std::vector<Entry> entries_;
  std::array<int, kNumWays> entry_of_way_;  ///< -1: none
  RingThreads ring_threads_;
  bool measured_ = false;
  std::string source_;
  double window_opening_seconds_ = 150e-6;
};

/// The file that for_device() reads: $ISTHMUS_PROFILE, or this machine's file below
/// $XDG_DATA_HOME/isthmus/profiles (~/.local/share/...). Empty: profiles are off, or there is no
/// home directory.
std::filesystem::path profile_path(const ProfileIdentity& identity);

}  // namespace isthmus::transfer
