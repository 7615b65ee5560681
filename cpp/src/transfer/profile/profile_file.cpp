// The text of a profile: docs/schema/profile-v2.json.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <isthmus/errors.hpp>

#include "host/system/printable.hpp"
#include "transfer/profile/json_document.hpp"
#include "transfer/profile/profile.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::uint64_t kSchemaVersion = 2;
constexpr double kMaxSeconds = 1e6;

[[noreturn]] void refuse(const std::string& why) { throw UsageError("not a profile: " + why); }

std::string shown(std::string_view text) { return host::printable(text, 80); }

std::string shown_value(const JsonValue& value) { return shown(value.text()); }

/// Throws      UsageError if the text isn't JSON or exceeds the limits.
JsonValue read_document(std::string_view text) {
  if (text.size() > kMaxProfileBytes) refuse("it is too long");
  try {
    return parse_json(text);
  } catch (const UsageError& error) {
    refuse(error.what());
  }
}

/// A value inside the document, and its place: "costs[3].points[0].bytes".
struct Place {
  const JsonValue& value;
  std::string name;

  Place at(const char* key) const {
    const auto& members = held<JsonObject>("an object");
    const auto found = members.find(key);
    if (found == members.end()) refuse(name + " has no \"" + key + "\"");
    return {found->second, name + "." + key};
  }

  /// Null if there is no such member.
  const JsonValue* find(const char* key) const {
    const auto& members = held<JsonObject>("an object");
    const auto found = members.find(key);
    return found == members.end() ? nullptr : &found->second;
  }

  std::vector<Place> items() const {
    const auto& values = held<JsonArray>("an array");
    std::vector<Place> found;
    found.reserve(values.size());
    for (const JsonValue& one : values)
      found.push_back({one, name + "[" + std::to_string(found.size()) + "]"});
    return found;
  }

  const std::string& text() const { return held<std::string>("a string"); }
  /// "" for null: unknown.
  std::string text_or_null() const { return value.is_null() ? "" : text(); }

  /// Of either sign; its magnitude is at most `most`.
  double number(double most) const {
    const double found = any_number();
    if (!(std::abs(found) <= most))
      refuse(name + " must be at most " + std::to_string(std::lround(most)) + ", not " +
             shown_value(value));
    return found;
  }

  double positive(double most) const {
    const double found = number(most);
    if (!(found > 0)) refuse(name + " must be more than 0, not " + shown_value(value));
    return found;
  }

  std::size_t bytes() const {
    // A copy of 1 PiB takes hours: no profile contains one.
    return static_cast<std::size_t>(whole("a whole number of bytes", std::uint64_t{1} << 50U));
  }

  int version() const {
    return static_cast<int>(whole("a version's number", std::numeric_limits<int>::max()));
  }

  /// 0 for null: not measured. No ring uses more than 1024.
  int threads_or_null() const {
    if (value.is_null()) return 0;
    const auto* const found = value.get<std::uint64_t>();
    if (found == nullptr || *found - 1 >= 1024)
      refuse(name + " must be a number of threads, not " + shown_value(value));
    return static_cast<int>(*found);
  }

  bool flag() const {
    if (value.get<bool>() == nullptr)
      refuse(name + " must be true or false, not " + shown_value(value));
    return *value.get<bool>();
  }

  /// The date of a time: "2026-11-20" of "2026-11-20T10:11:12Z".
  std::string date() const {
    const std::string& moment = text();
    const auto fits = [](char form, char found) {
      return form == '0' ? found >= '0' && found <= '9' : found == form;
    };
    const std::string_view form = "0000-00-00";
    if (moment.size() < form.size() ||
        !std::ranges::equal(form, moment.substr(0, form.size()), fits))
      refuse(name + " must begin with a date such as 2026-11-20, not " + shown_value(value));
    return moment.substr(0, form.size());
  }

private:
  template <typename Type>
  const Type& held(const char* what) const {
    const Type* const found = value.get<Type>();
    if (found == nullptr)
      refuse(name + " must be " + what + ", not " + std::string(value.type_name()));
    return *found;
  }

  double any_number() const {
    if (const auto* const whole = value.get<std::uint64_t>()) return static_cast<double>(*whole);
    if (const auto* const whole = value.get<std::int64_t>()) return static_cast<double>(*whole);
    return held<double>("a number");
  }

  std::uint64_t whole(const char* what, std::uint64_t most) const {
    const auto* const found = value.get<std::uint64_t>();
    if (found == nullptr || *found > most)
      refuse(name + " must be " + what + ", not " + shown_value(value));
    return *found;
  }
};

/// One of several values, by name.
template <typename Values, typename NameOf>
auto word(const Place& place, const Values& values, NameOf name) {
  const std::string& text = place.text();
  std::string known;
  for (const auto value : values) {
    if (text == name(value)) return value;
    known += (known.empty() ? "" : ", ") + std::string(name(value));
  }
  refuse(place.name + " is \"" + shown(text) + "\"; it must be one of " + known);
}

constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};
constexpr MemoryKind kHostKinds[] = {MemoryKind::pageable, MemoryKind::pinned};

std::string_view name_of_direction(Direction direction) {
  return direction == Direction::host_to_device ? "h2d" : "d2h";
}

std::vector<CostPoint> read_points(const Place& place) {
  std::vector<CostPoint> points;
  for (const Place& point : place.items())
    points.push_back({point.at("bytes").bytes(), point.at("seconds").number(kMaxSeconds)});
  return points;
}

/// Makes something of points; what is wrong with them is wrong with the file.
template <typename Make>
auto made_of(const Place& place, Make make) {
  try {
    return make(read_points(place));
  } catch (const UsageError& error) {
    refuse(place.name + ": " + error.what());
  }
}

/// Earlier files don't tell what pauses cost, and neither do those of the emulated driver.
double read_pause_seconds(const Place& cost, CopyPath path, const CostCurve& curve, bool emulated) {
  const char* const key = "after_pause";
  const JsonValue* const found = cost.find(key);
  if (found == nullptr) return assumed_pause_seconds(path, emulated);
  const Place points{*found, cost.name + "." + key};
  if (points.items().empty()) return assumed_pause_seconds(path, emulated);
  return made_of(points, [&](const auto& read) { return pause_seconds_of(curve, read); });
}

Profile::Entry read_entry(const Place& place, bool emulated) {
  const auto path = word(place.at("path"), kAllPaths, [](CopyPath one) { return name_of(one); });
  CostCurve curve =
      made_of(place.at("points"), [](auto points) { return CostCurve(std::move(points)); });
  const double pause_seconds = read_pause_seconds(place, path, curve, emulated);
  return {path, word(place.at("direction"), kDirections, &name_of_direction),
          word(place.at("host_memory"), kHostKinds, [](MemoryKind kind) { return name_of(kind); }),
          std::move(curve), pause_seconds};
}

std::string text_of(const Profile::Entry& entry) {
  return std::string(name_of(entry.path)) + ", " + std::string(name_of_direction(entry.direction)) +
         ", " + std::string(name_of(entry.host_kind));
}

bool same_way(const Profile::Entry& one, const Profile::Entry& other) {
  return one.path == other.path && one.direction == other.direction &&
         one.host_kind == other.host_kind;
}

std::vector<Profile::Entry> read_entries(const Place& costs, bool emulated) {
  std::vector<Profile::Entry> entries;
  for (const Place& place : costs.items()) {
    Profile::Entry entry = read_entry(place, emulated);
    if (std::ranges::any_of(entries, [&](const auto& other) { return same_way(entry, other); }))
      refuse(place.name + " repeats the costs of " + text_of(entry));
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// The driver's copy is the fallback, so its cost must be known.
void check_driver_is_there(const std::vector<Profile::Entry>& entries) {
  for (const Direction direction : kDirections) {
    for (const MemoryKind kind : kHostKinds) {
      const Profile::Entry wanted{CopyPath::driver, direction, kind, {}};
      if (std::ranges::none_of(entries, [&](const auto& one) { return same_way(one, wanted); }))
        refuse("costs lacks " + text_of(wanted));
    }
  }
}

[[noreturn]] void differ(const char* what, const std::string& theirs, const std::string& ours) {
  throw UsageError(std::string("it is of ") + what + " " + shown(theirs) + ", this is " +
                   shown(ours));
}

void check_text(const Place& theirs, const char* what, const std::string& ours) {
  const std::string& text = theirs.text();
  if (text != ours) differ(what, text, ours);
}

/// Checks everything that the figures depend on. CPU and cores may differ: see with_cores().
void check_identity(const Place& machine, const ProfileIdentity& here) {
  if (machine.at("emulated").flag() != here.emulated)
    throw UsageError(here.emulated ? "it is of a real device, this one is emulated"
                                   : "it is of the emulated driver, this one is real");
  check_text(machine.at("gpu_uuid"), "GPU", here.gpu_uuid);
  check_text(machine.at("gpu_name"), "GPU", here.gpu_name);
  check_text(machine.at("link"), "link", here.link.name());
  const int cuda = machine.at("cuda_version").version();
  if (cuda != here.cuda_version)
    differ("CUDA driver", version_text(cuda), version_text(here.cuda_version));
  const std::string release = machine.at("driver_release").text_or_null();
  // Either may be unknown, in a container for instance: then CUDA's version must be enough.
  if (!release.empty() && !here.driver_release.empty() && release != here.driver_release)
    differ("driver", release, here.driver_release);
}

/// At the points of both curves, the higher cost.
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

/// A process with fewer cores than measured has fewer threads to copy with.
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

Profile read_profile(const JsonValue& document, const ProfileIdentity& here) {
  const Place root{document, "profile"};
  const Place version = root.at("schema_version");
  const auto* const number = version.value.get<std::uint64_t>();
  if (number == nullptr || *number != kSchemaVersion)
    refuse("schema_version is " + shown_value(version.value) + "; this library reads " +
           std::to_string(kSchemaVersion) + ": run `isthmus profile` again");
  const Place machine = root.at("machine");
  check_identity(machine, here);
  std::vector<Profile::Entry> entries = read_entries(root.at("costs"), here.emulated);
  check_driver_is_there(entries);
  std::string source = "profile of " + root.at("measurement").at("finished_at").date();
  // More cores than any machine has: see host/cpu/cpu_list.cpp.
  const double num_cores = machine.at("num_cores").positive(65'536);
  /// Cores vary by fractions of a quota; threads only by whole ones.
  if (here.num_cores < num_cores - 0.5) {
    with_cores(entries, here);
    source +=
        " with " + cores_text(num_cores) + " cores, corrected for " + cores_text(here.num_cores);
  }
  const Place staging = root.at("staging_threads");
  RingThreads threads{staging.at("h2d").threads_or_null(), staging.at("d2h").threads_or_null()};
  if (threads.download == 0) threads.download = Profile::defaults(here).ring_threads().download;
  const Place opening = root.at("window_opening_seconds");
  if (opening.value.is_null())
    return Profile(std::move(entries), true, std::move(source)).with_ring_threads(threads);
  return Profile(std::move(entries), true, std::move(source), opening.positive(kMaxSeconds))
      .with_ring_threads(threads);
}

}  // namespace

Profile Profile::parse(std::string_view json, const ProfileIdentity& identity) {
  return read_profile(read_document(json), identity);
}

}  // namespace isthmus::transfer
