// The text of a profile: docs/schema/profile-v2.json. The only file that reads JSON.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include <isthmus/errors.hpp>

#include "transfer/profile.hpp"

namespace isthmus::transfer {
namespace {

using Json = nlohmann::json;

constexpr int kSchemaVersion = 2;
/// A copy of as many bytes takes hours: no profile has it.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50U;
/// More threads than any ring takes.
constexpr std::uint64_t kMostThreads = 1024;
/// Cores come and go by fractions of a quota; threads by whole ones.
constexpr double kSameCores = 0.5;

[[noreturn]] void refuse(const std::string& why) { throw UsageError("not a profile: " + why); }

/// A value inside the document, and where: "costs[3].points[0].bytes".
struct Place {
  const Json& value;
  std::string name;

  Place at(const char* key) const {
    if (!value.is_object()) refuse(name + " must be an object, not " + value.type_name());
    const auto found = value.find(key);
    if (found == value.end()) refuse(name + " has no \"" + key + "\"");
    return {*found, name + "." + key};
  }

  std::vector<Place> items() const {
    if (!value.is_array()) refuse(name + " must be an array, not " + value.type_name());
    std::vector<Place> found;
    found.reserve(value.size());
    for (std::size_t i = 0; i < value.size(); ++i)
      found.push_back({value[i], name + "[" + std::to_string(i) + "]"});
    return found;
  }

  std::string text() const {
    if (!value.is_string()) refuse(name + " must be a string, not " + value.type_name());
    return value.get<std::string>();
  }
  /// "" for null: not known.
  std::string text_or_null() const { return value.is_null() ? "" : text(); }

  double number() const {
    if (!value.is_number()) refuse(name + " must be a number, not " + value.type_name());
    return value.get<double>();
  }

  std::size_t bytes() const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMostBytes)
      refuse(name + " must be a whole number of bytes, not " + value.dump());
    return value.get<std::size_t>();
  }

  /// 0 for null: not measured.
  int threads_or_null() const {
    if (value.is_null()) return 0;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() - 1 >= kMostThreads)
      refuse(name + " must be a number of threads, not " + value.dump());
    return value.get<int>();
  }

  bool flag() const {
    if (!value.is_boolean()) refuse(name + " must be true or false, not " + value.dump());
    return value.get<bool>();
  }
};

/// One of several values, by its name.
template <typename Value, std::size_t N, typename NameOf>
Value word(const Place& place, const Value (&values)[N], NameOf name) {
  const std::string text = place.text();
  std::string known;
  for (const Value value : values) {
    if (text == name(value)) return value;
    known += (known.empty() ? "" : ", ") + std::string(name(value));
  }
  refuse(place.name + " is \"" + text + "\"; it must be one of " + known);
}

constexpr CopyPath kPaths[] = {CopyPath::window, CopyPath::window_threads, CopyPath::driver,
                               CopyPath::staged, CopyPath::registered};
constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};
constexpr MemoryKind kHostKinds[] = {MemoryKind::pageable, MemoryKind::pinned};

std::string_view name_of_direction(Direction direction) {
  return direction == Direction::host_to_device ? "h2d" : "d2h";
}

CostCurve read_curve(const Place& place) {
  std::vector<CostPoint> points;
  for (const Place& point : place.items())
    points.push_back({point.at("bytes").bytes(), point.at("seconds").number()});
  try {
    return CostCurve(std::move(points));
  } catch (const UsageError& error) {
    refuse(place.name + ": " + error.what());
  }
}

Profile::Entry read_entry(const Place& place) {
  return {word(place.at("path"), kPaths, [](CopyPath path) { return name_of(path); }),
          word(place.at("direction"), kDirections, &name_of_direction),
          word(place.at("host_memory"), kHostKinds, [](MemoryKind kind) { return name_of(kind); }),
          read_curve(place.at("points"))};
}

std::string text_of(const Profile::Entry& entry) {
  return std::string(name_of(entry.path)) + ", " + std::string(name_of_direction(entry.direction)) +
         ", " + std::string(name_of(entry.host_kind));
}

bool same_way(const Profile::Entry& one, const Profile::Entry& other) {
  return one.path == other.path && one.direction == other.direction &&
         one.host_kind == other.host_kind;
}

std::vector<Profile::Entry> read_entries(const Place& costs) {
  std::vector<Profile::Entry> entries;
  for (const Place& place : costs.items()) {
    Profile::Entry entry = read_entry(place);
    if (std::ranges::any_of(entries, [&](const auto& other) { return same_way(entry, other); }))
      refuse(place.name + " repeats the costs of " + text_of(entry));
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// The driver's copy is what is left where nothing else can, so its cost must be known.
void check_driver_is_there(const std::vector<Profile::Entry>& entries) {
  for (const Direction direction : kDirections) {
    for (const MemoryKind kind : kHostKinds) {
      const Profile::Entry wanted{CopyPath::driver, direction, kind, {}};
      if (std::ranges::none_of(entries, [&](const auto& one) { return same_way(one, wanted); }))
        refuse("costs has none of " + text_of(wanted));
    }
  }
}

[[noreturn]] void differ(const char* what, const std::string& theirs, const std::string& ours) {
  throw UsageError(std::string("it is of ") + what + " " + theirs + ", this is " + ours);
}

void check_text(const Place& theirs, const char* what, const std::string& ours) {
  const std::string text = theirs.text();
  if (text != ours) differ(what, text, ours);
}

/// Everything the figures hang on. CPU and cores aren't refused: see with_cores().
void check_identity(const Place& machine, const ProfileIdentity& here) {
  if (machine.at("emulated").flag() != here.emulated)
    throw UsageError(here.emulated ? "it is of a real device, this one is emulated"
                                   : "it is of the emulated driver, this one is real");
  check_text(machine.at("gpu_uuid"), "GPU", here.gpu_uuid);
  check_text(machine.at("gpu_name"), "GPU", here.gpu_name);
  check_text(machine.at("link"), "link", here.link.name());
  const auto cuda = static_cast<int>(machine.at("cuda_version").bytes());
  if (cuda != here.cuda_version)
    differ("CUDA driver", version_text(cuda), version_text(here.cuda_version));
  const std::string release = machine.at("driver_release").text_or_null();
  // Either may not know it, in a container for instance: CUDA's version then has to do.
  if (!release.empty() && !here.driver_release.empty() && release != here.driver_release)
    differ("driver", release, here.driver_release);
}

/// Costs at the points of both, whichever are more.
CostCurve dearer(const CostCurve& one, const CostCurve& other) {
  std::vector<CostPoint> points;
  for (const CostCurve* curve : {&one, &other}) {
    for (const CostPoint& point : curve->points())
      points.push_back({point.size_bytes,
                        std::max(one.seconds(point.size_bytes), other.seconds(point.size_bytes))});
  }
  std::ranges::sort(points, {}, &CostPoint::size_bytes);
  const auto repeated = std::ranges::unique(points, {}, &CostPoint::size_bytes);
  points.erase(repeated.begin(), repeated.end());
  return CostCurve(std::move(points));
}

/// A process that may use fewer cores than measured has fewer threads to copy with.
void with_cores(std::vector<Profile::Entry>& entries, const ProfileIdentity& here) {
  const Profile defaults = Profile::defaults(here);
  for (Profile::Entry& entry : entries) {
    if (entry.path != CopyPath::staged && entry.path != CopyPath::window_threads) continue;
    const CostCurve* const assumed = defaults.curve(entry.path, entry.direction, entry.host_kind);
    if (assumed != nullptr) entry.curve = dearer(entry.curve, *assumed);
  }
}

std::string cores_text(double num_cores) {
  const auto tenths = std::lround(num_cores * 10);
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text.append(".").append(std::to_string(tenths % 10));
  return text;
}

Profile read_profile(const Json& document, const ProfileIdentity& here) {
  const Place root{document, "profile"};
  const Place version = root.at("schema_version");
  if (version.value != kSchemaVersion)
    refuse("schema_version is " + version.value.dump() + "; this library reads " +
           std::to_string(kSchemaVersion) + ": run `isthmus profile` again");
  const Place machine = root.at("machine");
  check_identity(machine, here);
  std::vector<Profile::Entry> entries = read_entries(root.at("costs"));
  check_driver_is_there(entries);
  std::string source =
      "profile of " + root.at("measurement").at("finished_at").text().substr(0, 10);
  const double num_cores = machine.at("num_cores").number();
  if (here.num_cores < num_cores - kSameCores) {
    with_cores(entries, here);
    source +=
        " with " + cores_text(num_cores) + " cores, corrected for " + cores_text(here.num_cores);
  }
  const Place staging = root.at("staging_threads");
  const RingThreads threads{staging.at("h2d").threads_or_null(),
                            staging.at("d2h").threads_or_null()};
  const Place opening = root.at("window_opening_seconds");
  if (opening.value.is_null())
    return Profile(std::move(entries), true, std::move(source)).with_ring_threads(threads);
  if (!(opening.number() > 0)) refuse(opening.name + " must be more than 0");
  return Profile(std::move(entries), true, std::move(source), opening.number())
      .with_ring_threads(threads);
}

}  // namespace

Profile Profile::parse(std::string_view json, const ProfileIdentity& identity) {
  try {
    return read_profile(Json::parse(json), identity);
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

}  // namespace isthmus::transfer
