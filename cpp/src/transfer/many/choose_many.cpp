#include "transfer/many/choose_many.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "device/capture.hpp"

namespace isthmus::transfer {
namespace {

// What a launch takes longer than the shortest copy by the driver, each until it is known to have
// ended. Source: benchmarks/link/h100: 256 pieces of 4 KiB in 33 us, of which their bytes take 19;
// a copy of 4 bytes in 6.
constexpr double kLaunchSeconds = 8e-6;
// One of many copies that the driver makes one after the other: 256 took 666 us. Source:
// benchmarks/link/h100.
constexpr double kSecondsPerDriverCopy = 2.5e-6;
// What the CPU takes to pack one piece, and a byte of it: the same pieces took 105 us packed.
// Source: benchmarks/link/h100.
constexpr double kSecondsPerStagedPiece = 30e-9;
constexpr double kSecondsPerStagedByte = 1 / 14e9;
// Long enough that only the link's speed counts.
constexpr std::size_t kLongBytes = std::size_t{64} << 20U;

bool is_direct(const Member& member) {
  const bool pinned = member.task.crossing.host_kind == MemoryKind::pinned;
  const bool read_late = member.task.uploads() && member.request.when == Return::source_free;
  return pinned && !read_late;
}

/// What the link takes for pinned memory.
struct LinkCosts {
  LinkCosts(const DevicePaths& device, Direction direction) {
    shortest = device.seconds(CopyPath::driver, {direction, MemoryKind::pinned, 1});
    const double whole =
        device.seconds(CopyPath::driver, {direction, MemoryKind::pinned, kLongBytes});
    per_byte = std::max(0.0, whole - shortest) / static_cast<double>(kLongBytes);
  }
  double of(std::size_t size_bytes) const { return per_byte * static_cast<double>(size_bytes); }

  double shortest = 0;
  double per_byte = 0;
};

/// Windows come first: they wait for the stream, which would include the other copies.
int rank_of(const Plan& plan) {
  if (is_window(plan.path)) return 0;
  return plan.path == CopyPath::kernel ? 1 : 2;
}

/// Of adjacent copies through windows in one stream only the first waits for the stream's work, if
/// the caller makes it: the call enqueues nothing before its windows are done.
void order_once(std::vector<PlannedCopies>& planned) {
  const PlannedCopies* before = nullptr;
  for (PlannedCopies& copy : planned) {
    if (!is_window(copy.plan.path)) return;
    const bool waited = before != nullptr && before->request.when == Return::complete &&
                        before->request.ordered && before->plan.device == copy.plan.device &&
                        before->request.stream == copy.request.stream;
    if (waited)
      copy.request.ordered = false;
    else
      before = &copy;
  }
}

/// The cheapest paths of copies of one size and kind of host memory.
struct AlikeCopies {
  std::size_t size_bytes = 0;
  MemoryKind host_kind = MemoryKind::unknown;
  Choice best;
  std::optional<Choice> without_windows;  ///< set once it was needed

  bool includes(const Crossing& crossing) const noexcept {
    return size_bytes == crossing.size_bytes && host_kind == crossing.host_kind;
  }
};

/// The paths of some sizes, because the copies of a call mostly have few: finding the cheapest path
/// takes longer than anything else in choosing. For copies of one device and direction.
class AlikeTable {
public:
  AlikeCopies& slot_of(const Crossing& crossing) noexcept {
    return slots_[crossing.size_bytes * kOddMultiplier >> kShift];
  }

private:
  // Fibonacci hashing: the highest bits of a product with 2^64 over the golden ratio.
  static constexpr std::uint64_t kOddMultiplier = 0x9e3779b97f4a7c15;
  static constexpr unsigned kSlotBits = 4;
  static constexpr unsigned kShift = 64 - kSlotBits;
  std::array<AlikeCopies, std::size_t{1} << kSlotBits> slots_;
};

}  // namespace

/// Copies that one launch could make.
struct ManyChooser::Group {
  Group(DevicePaths& the_device, const Member& first, bool is_by_caller)
      : device(&the_device),
        stream(first.request.stream),
        direction(first.task.crossing.direction),
        by_caller(is_by_caller),
        when(first.request.when),
        link(the_device, direction),
        seconds(kLaunchSeconds + link.shortest) {}

  DevicePaths* device;
  CUstream stream;
  Direction direction;
  bool by_caller;  ///< false: a thread in the background makes them
  Return when;
  LinkCosts link;
  std::vector<const Member*> members;
  std::size_t size_bytes = 0;
  double seconds;             ///< predicted, together
  double single_seconds = 0;  ///< predicted, one by one
  AlikeTable alike;

  bool takes(const Member& member, const DevicePaths* of, bool caller) const {
    return device == of && stream == member.request.stream && by_caller == caller &&
           direction == member.task.crossing.direction && when == member.request.when;
  }
};

/// True if a kernel could make this copy.
bool ManyChooser::may_join(const Member& member) const {
  const Task& task = member.task;
  return task.crosses && !task.ends.may_vanish() && !task.ends.spans_registrations &&
         !member.request.path && task.ends.size_bytes <= PieceMover::kMaxPieceBytes;
}

double ManyChooser::single_seconds(const Member& member, Group& group) const {
  DevicePaths& device = *group.device;
  const Task& task = member.task;
  AlikeCopies& alike = group.alike.slot_of(task.crossing);
  if (!alike.includes(task.crossing)) {
    const bool no_windows = member.request.when == Return::source_free && task.uploads();
    alike = {task.crossing.size_bytes, task.crossing.host_kind,
             device.best(task.crossing, no_windows), std::nullopt};
  }
  Choice choice = alike.best;
  if (is_window(choice.path) &&
      windows_.find(task.device_address(), task.ends.size_bytes) == nullptr) {
    if (!alike.without_windows) alike.without_windows = device.best(task.crossing, true);
    choice = *alike.without_windows;
  }
  if (choice.path != CopyPath::driver || task.crossing.host_kind != MemoryKind::pinned)
    return choice.seconds;
  // The call waits only once for all of them.
  return std::max(kSecondsPerDriverCopy, group.link.of(task.ends.size_bytes));
}

std::vector<ManyChooser::Group> ManyChooser::groups_of(std::span<const Member> members,
                                                       std::vector<bool>& is_grouped) const {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    if (!may_join(member)) continue;
    DevicePaths* const device = &devices_.at(member.task.device);
    const bool by_caller =
        member.request.when == Return::complete || member.task.uploads() || is_direct(member);
    const auto known = std::ranges::find_if(
        groups, [&](const Group& group) { return group.takes(member, device, by_caller); });
    Group& group = known != groups.end() ? *known : groups.emplace_back(*device, member, by_caller);
    const std::size_t size_bytes = member.task.ends.size_bytes;
    group.members.push_back(&member);
    group.size_bytes += size_bytes;
    group.seconds += group.link.of(size_bytes);
    if (!is_direct(member))
      group.seconds +=
          kSecondsPerStagedPiece + kSecondsPerStagedByte * static_cast<double>(size_bytes);
    group.single_seconds += single_seconds(member, group);
    is_grouped[i] = true;
  }
  return groups;
}

/// Whether a launch is possible and would be faster. A graph would read the staging memory at each
/// replay.
bool ManyChooser::pays(const Group& group) const {
  if (group.members.size() < 2 || group.seconds >= group.single_seconds) return false;
  const ContextOfDevice context(group.device->context());
  return !may_be_captured(driver_, group.stream) && devices_.kernel_obstacle(*group.device).empty();
}

Plan ManyChooser::plan_of(const Group& group) const {
  auto pieces = std::make_shared<std::vector<LinkPiece>>();
  pieces->reserve(group.members.size());
  for (const Member* member : group.members) {
    const CopyEnds& ends = member->task.ends;
    void* const host = member->task.uploads() ? const_cast<void*>(ends.source) : ends.target;
    pieces->push_back({member->task.device_address(), static_cast<std::byte*>(host),
                       ends.size_bytes, is_direct(*member)});
  }
  Plan plan;
  plan.crossing = {group.direction, MemoryKind::pinned, group.size_bytes};
  plan.ends = ends_of(plan.crossing, nullptr, nullptr);
  plan.device = group.device;
  plan.path = CopyPath::kernel;
  plan.predicted_seconds = group.seconds;
  plan.pieces = pieces.get();
  plan.window = std::shared_ptr<CachedWindow>(std::move(pieces), nullptr);
  return plan;
}

/// choose_one  makes the plan of a copy by itself
template <typename ChooseOne>
std::vector<PlannedCopies> ManyChooser::plan(std::span<const Member> members,
                                             ChooseOne choose_one) const {
  std::vector<PlannedCopies> planned;
  std::vector<bool> is_grouped(members.size(), false);
  for (const Group& group : groups_of(members, is_grouped)) {
    if (pays(group)) {
      planned.push_back({plan_of(group), group.members.front()->request});
      continue;
    }
    for (const Member* member : group.members)
      is_grouped[static_cast<std::size_t>(member - members.data())] = false;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (is_grouped[i]) continue;
    const Task& task = members[i].task;
    Request request = members[i].request;
    request.when = members[i].returns_alone;
    const auto context = devices_.context_of(task, request.stream);
    planned.push_back({choose_one(task, request), request});
  }
  std::ranges::stable_sort(planned, {},
                           [](const PlannedCopies& copy) { return rank_of(copy.plan); });
  order_once(planned);
  return planned;
}

std::vector<PlannedCopies> ManyChooser::ready(std::span<const Member> members) {
  return plan(members, [this](const Task& task, const Request& request) {
    return chooser_.ready(task, request);
  });
}

std::vector<PlannedCopies> ManyChooser::choose(std::span<const Member> members) const {
  return plan(members, [this](const Task& task, const Request& request) {
    return chooser_.choose(task, request);
  });
}

}  // namespace isthmus::transfer
