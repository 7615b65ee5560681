#include "transfer/profile/profile.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <isthmus/errors.hpp>

#include "driver/environment.hpp"
#include "host/cpu/cgroup.hpp"
#include "host/system/pci.hpp"
#include "host/system/printable.hpp"
#include "host/system/text_file.hpp"
#include "host/system/virtualization.hpp"

namespace isthmus::transfer {
namespace {

void check(const CostPoint& point) {
  if (std::isfinite(point.seconds) && point.seconds > 0) return;
  throw UsageError("a cost of " + std::to_string(point.seconds) + " s for " +
                   std::to_string(point.size_bytes) + " bytes: it must be more than 0");
}

void check_order(const CostPoint& before, const CostPoint& after) {
  if (before.size_bytes < after.size_bytes) return;
  throw UsageError("costs must be given by ascending size: " + std::to_string(after.size_bytes) +
                   " bytes come after " + std::to_string(before.size_bytes));
}

/// The straight line through two points, also beyond them; never less than `least`.
double on_line(const CostPoint& first, const CostPoint& last, std::size_t size_bytes) {
  const double slope =
      (last.seconds - first.seconds) / static_cast<double>(last.size_bytes - first.size_bytes);
  const double distance = static_cast<double>(size_bytes) - static_cast<double>(first.size_bytes);
  return first.seconds + slope * distance;
}

}  // namespace

CostCurve::CostCurve(std::vector<CostPoint> points) : points_(std::move(points)) {
  if (points_.empty()) throw UsageError("a cost curve needs at least one point");
  for (std::size_t i = 0; i < points_.size(); ++i) {
    check(points_[i]);
    if (i > 0) check_order(points_[i - 1], points_[i]);
  }
}

double CostCurve::seconds(std::size_t size_bytes) const noexcept {
  if (points_.empty()) return 0;
  const auto after = std::ranges::upper_bound(points_, size_bytes, {}, &CostPoint::size_bytes);
  if (after == points_.begin() || points_.size() == 1) return points_.front().seconds;
  if (after != points_.end()) return on_line(*(after - 1), *after, size_bytes);
  // Noise in the last two points would grow with the distance from them: additional bytes cost at
  // least the average so far.
  const CostPoint& last = points_.back();
  const double in_proportion =
      last.seconds * static_cast<double>(size_bytes) / static_cast<double>(last.size_bytes);
  return std::max(in_proportion, on_line(points_[points_.size() - 2], last, size_bytes));
}

double pause_seconds_of(const CostCurve& back_to_back, const std::vector<CostPoint>& after_pause) {
  const CostCurve curve(after_pause);
  std::vector<double> more;
  for (const CostPoint& point : curve.points())
    more.push_back(std::max(0.0, point.seconds - back_to_back.seconds(point.size_bytes)));
  std::ranges::sort(more);
  return (more[(more.size() - 1) / 2] + more[more.size() / 2]) / 2;
}

/// What the same copy takes differs by 3 % from minute to minute, by 10 % if threads help, and by a
/// factor of up to two after a pause. Source: benchmarks/transfer, benchmarks/rhythms.
double margin_of(CopyPath path) noexcept { return path == CopyPath::driver ? 1 : 1.3; }

Profile::Profile(std::vector<Entry> entries, bool measured, std::string source)
    : entries_(std::move(entries)), measured_(measured), source_(std::move(source)) {
  entry_of_way_.fill(-1);
  for (std::size_t i = entries_.size(); i-- > 0;) {
    const Entry& entry = entries_[i];
    entry_of_way_[way_of(entry.path, entry.direction, entry.host_kind)] = static_cast<int>(i);
  }
}

Profile::Profile(std::vector<Entry> entries, bool measured, std::string source,
                 double window_opening_seconds)
    : Profile(std::move(entries), measured, std::move(source)) {
  window_opening_seconds_ = window_opening_seconds;
}

const CostCurve* Profile::curve(CopyPath path, Direction direction,
                                MemoryKind host_kind) const noexcept {
  const Entry* const found = entry(path, direction, host_kind);
  return found == nullptr ? nullptr : &found->curve;
}

double Profile::pause_seconds(CopyPath path, Direction direction,
                              MemoryKind host_kind) const noexcept {
  const Entry* const found = entry(path, direction, host_kind);
  return found == nullptr ? 0 : found->pause_seconds;
}

const Profile::Entry* Profile::entry(CopyPath path, Direction direction,
                                     MemoryKind host_kind) const noexcept {
  if (host_kind != MemoryKind::pageable && host_kind != MemoryKind::pinned) return nullptr;
  const int index = entry_of_way_[way_of(path, direction, host_kind)];
  return index < 0 ? nullptr : &entries_[static_cast<std::size_t>(index)];
}

Profile Profile::defaults(const DeviceFacts& device, double num_cores, bool emulated) {
  return defaults(identity_of(device, num_cores, emulated));
}

Profile Profile::parse(std::string_view json, const DeviceFacts& device, bool emulated) {
  return parse(json, identity_of(device, host::effective_cores(), emulated));
}

Profile Profile::for_device(const DeviceFacts& device, double num_cores, bool emulated) {
  return for_device(identity_of(device, num_cores, emulated));
}

namespace {

LinkClass link_of(const DeviceFacts& device, bool emulated, const std::filesystem::path& root) {
  if (emulated) return {LinkClass::Kind::emulated, 0, 0};
  if (device.uses_host_page_tables) return {LinkClass::Kind::nvlink_c2c, 0, 0};
  LinkClass link;
  if (const auto found = host::pci_link(device.pci_address, root)) {
    link.generation = found->generation;
    link.width = found->width;
  }
  return link;
}

}  // namespace

std::string LinkClass::name() const {
  if (kind == Kind::nvlink_c2c) return "NVLink-C2C";
  if (kind == Kind::emulated) return "emulated link";
  return "PCIe Gen" + std::to_string(generation) + " x" + std::to_string(width);
}

ProfileIdentity identity_of(const DeviceFacts& device, double num_cores, bool emulated,
                            const std::filesystem::path& root) {
  ProfileIdentity identity;
  identity.emulated = emulated;
  identity.gpu_uuid = device.uuid;
  identity.gpu_name = device.name;
  identity.link = link_of(device, emulated, root);
  identity.cuda_version = device.cuda_version;
  if (!emulated) identity.driver_release = host::nvidia_module_release(root);
  identity.cpu_model = host::cpu_model(root);
  identity.num_cores = num_cores;
  return identity;
}

std::string profile_file_name(const ProfileIdentity& identity) {
  std::string link = identity.link.name();
  std::ranges::replace(link, ' ', '-');
  return identity.gpu_uuid + "-" + link + ".json";
}

namespace {

constexpr std::string_view kOff = "off";
constexpr const char* kMeasure = "`isthmus profile` measures it";

/// Throws      UsageError with the reason.
std::string read_profile(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) throw UsageError("it isn't a file");
  if (std::filesystem::file_size(file, failure) > kMaxProfileBytes || failure)
    throw UsageError("it is too long for a profile");
  auto text = host::read_text(file);
  if (!text) throw UsageError("it can't be read");
  return std::move(*text);
}

Profile instead(const ProfileIdentity& identity, const std::string& why) {
  const Profile defaults = Profile::defaults(identity);
  return defaults.with_source(defaults.source() + ": " + why);
}

}  // namespace

std::filesystem::path profile_path(const ProfileIdentity& identity) {
  std::string wish = environment("ISTHMUS_PROFILE").value_or("");
  if (wish == kOff) return {};
  if (!wish.empty()) return wish;
  const auto folder = user_folder("XDG_DATA_HOME", ".local/share");
  if (folder.empty()) return {};
  return folder / "isthmus" / "profiles" / profile_file_name(identity);
}

Profile Profile::for_device(const ProfileIdentity& identity) {
  const auto file = profile_path(identity);
  const std::string wish = environment("ISTHMUS_PROFILE").value_or("");
  if (wish == kOff) return instead(identity, "profiles are off, by ISTHMUS_PROFILE");
  std::error_code failure;
  if (file.empty() || (wish.empty() && !std::filesystem::exists(file, failure)))
    return instead(identity, std::string("no profile of this machine; ") + kMeasure);
  const std::string name = host::printable(file.native());
  try {
    const Profile stored = parse(read_profile(file), identity);
    return stored.with_source(stored.source() + " (" + name + ")");
  } catch (const UsageError& misfit) {
    return instead(identity, name + " is not used: " + misfit.what() + "; " + kMeasure);
  }
}

}  // namespace isthmus::transfer
