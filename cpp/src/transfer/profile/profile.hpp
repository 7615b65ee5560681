// What each way of copying costs on one device's link: measured, or assumed from its kind.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <isthmus/transfer.hpp>

#include "device/context.hpp"
#include "transfer/profile/profile_identity.hpp"
#include "transfer/staging/ring_threads.hpp"

namespace isthmus::transfer {

enum class Direction { host_to_device, device_to_host };

struct CostPoint {
  std::size_t size_bytes = 0;
  double seconds = 0;
};

/// Seconds over bytes, piecewise linear: below the first point its cost, beyond the last with
/// the last two points' slope, but at least in proportion to the last.
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

/// What a path's predicted seconds are multiplied by where paths are compared: so much must be
/// gained by it over the driver's copy, so that a prediction that is a little wrong isn't a copy
/// that is slower than cudaMemcpy.
double margin_of(CopyPath path) noexcept;

/// The longest text of a profile: some hundred times what `isthmus profile` writes.
inline constexpr std::size_t kMaxProfileBytes = std::size_t{4} << 20U;

/// The cost curves of one device's link. Immutable.
class Profile {
public:
  struct Entry {
    CopyPath path = CopyPath::driver;
    Direction direction = Direction::host_to_device;
    MemoryKind host_kind = MemoryKind::pageable;  ///< pageable or pinned
    CostCurve curve;
  };

  /// source      where it comes from, for explain(): "defaults for PCIe Gen5 x16"
  Profile(std::vector<Entry> entries, bool measured, std::string source);
  Profile(std::vector<Entry> entries, bool measured, std::string source,
          double window_opening_seconds);

  /// Null: that way wasn't measured, so it isn't taken.
  const CostCurve* curve(CopyPath path, Direction direction, MemoryKind host_kind) const noexcept;
  bool measured() const noexcept { return measured_; }
  const std::string& source() const noexcept { return source_; }
  /// The same figures, said to come from elsewhere.
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
  /// Of staged copies, by which their costs were measured.
  const RingThreads& ring_threads() const noexcept { return ring_threads_; }
  /// Seconds that opening a window on a buffer costs: paid back before one is opened.
  double window_opening_seconds() const noexcept { return window_opening_seconds_; }

  /// Conservative figures for the device's kind of link, with so many cores to copy with: the
  /// driver's copies at the fast end of what was measured, the other ways at the slow end.
  static Profile defaults(const DeviceFacts& device, double num_cores, bool emulated);
  static Profile defaults(const ProfileIdentity& identity);

  /// Reads `isthmus profile`'s file. With fewer cores than it was made with, ways that take several
  /// threads cost what the defaults say, if that is more.
  ///
  /// Throws      UsageError if it isn't one (whatever bytes it has: no JSON, nested deep, longer
  ///             than kMaxProfileBytes, a member twice), is of another GPU, link, driver or
  ///             schema, or was made on the emulated driver and this one is real (or the other way
  ///             round).
  static Profile parse(std::string_view json, const DeviceFacts& device, bool emulated);
  static Profile parse(std::string_view json, const ProfileIdentity& identity);

  /// The stored profile of this device, if there is a fitting one ($ISTHMUS_PROFILE: a file, or
  /// "off"), else the defaults. Never throws for a file that doesn't fit: source() says why it
  /// isn't used.
  static Profile for_device(const DeviceFacts& device, double num_cores, bool emulated);
  static Profile for_device(const ProfileIdentity& identity);

private:
  static constexpr std::size_t kNumWays =
      std::size_t{5} * 2 * 2;  ///< paths, directions, kinds of memory
  static std::size_t way_of(CopyPath path, Direction direction, MemoryKind host_kind) noexcept;

  std::vector<Entry> entries_;
  std::array<int, kNumWays> entry_of_way_;  ///< -1: none
  RingThreads ring_threads_;
  bool measured_ = false;
  std::string source_;
  double window_opening_seconds_ = 150e-6;
};

/// The file that for_device() reads: $ISTHMUS_PROFILE, or this machine's below
/// $XDG_DATA_HOME/isthmus/profiles (~/.local/share/...). Empty: profiles are off, or there is no
/// home.
std::filesystem::path profile_path(const ProfileIdentity& identity);

}  // namespace isthmus::transfer
