#include "transfer/many/choose_many.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "device/capture.hpp"
#include "transfer/plan/link_costs.hpp"

namespace isthmus::transfer {

namespace {

bool is_direct(const Member& member) {
  const bool pinned = member.task.crossing.host_kind == MemoryKind::pinned;
  const bool read_late = member.task.uploads() && member.request.when == Return::source_free;
  return pinned && !read_late;
}

/// Windows come first: they wait for the stream, which would include the other copies. Copies that
/// the driver makes meanwhile come before those that keep the caller busy.
int rank_of(const Plan& plan) {
  if (is_window(plan.path)) return 0;
  if (plan.path == CopyPath::kernel) return 1;
  return plan.path == CopyPath::driver && plan.ends.is_ordered_by_driver() ? 2 : 3;
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

}  // namespace

/// Copies that could be made together: by one launch, or by the staging ring as one copy.
struct ManyChooser::Group {
  Group(DevicePaths& the_device, const Member& first, CopyPath the_path, bool is_by_caller)
      : device(&the_device),
        path(the_path),
        stream(first.request.stream),
        direction(first.task.crossing.direction),
        by_caller(is_by_caller),
        when(when_of(first, the_path)),
        link(the_device, direction),
        // What a launch takes longer than the shortest copy by the driver, each until it is known
        // to have ended. Source: benchmarks/link/h100: 256 pieces of 4 KiB in 33 us, of which their
        // bytes take 19; a copy of 4 bytes in 6.
        seconds(the_path == CopyPath::kernel ? 8e-6 + link.shortest : 0) {}

  DevicePaths* device;
  CopyPath path;
  CUstream stream;
  Direction direction;
  bool by_caller;  ///< false: a thread in the background makes them
  Return when;
  LinkCosts link;
  std::vector<const Member*> members;
  std::size_t size_bytes = 0;
  double seconds;            ///< predicted, together; of the ring without what the bytes take
  double other_seconds = 0;  ///< predicted, otherwise
  AlikeTable alike;

  /// A launch can always keep the request's rule; the ring only what each copy could alone.
  static Return when_of(const Member& member, CopyPath path) {
    return path == CopyPath::kernel ? member.request.when : member.returns_alone;
  }
  bool takes(const Member& member, const DevicePaths* of, bool caller) const {
    return device == of && stream == member.request.stream && by_caller == caller &&
           direction == member.task.crossing.direction && when == when_of(member, path);
  }
  /// A kernel moves many short copies more quickly than the ring does, also across a slow link: what
  /// the ring's threads do for each takes longer than packing it, even if the link hides its
  /// enqueueing.
  bool suits(const Member& member) const {
    return path == CopyPath::kernel || member.task.ends.size_bytes > PieceMover::kMaxPieceBytes ||
           seconds_per_fragment() < seconds_by_kernel(member);
  }
  /// One of a ring's copies between a slot and the device, enqueued with others: 256 took 361 us up
  /// and 116 us down. Source: benchmarks/frontdoor/h200/copies.json.
  double seconds_per_fragment() const {
    return direction == Direction::host_to_device ? 1.4e-6 : 0.45e-6;
  }
  /// What one more copy costs by a kernel; without the link's time, which it takes either way.
  double seconds_by_kernel(const Member& member) const {
    if (is_direct(member)) return 0;
    // What the CPU takes to pack the piece and a byte of it: 256 pieces of 4 KiB took 105 us
    // packed. Source: benchmarks/link/h100.
    return 30e-9 + static_cast<double>(member.task.ends.size_bytes) / 14e9;
  }
  /// The same by the ring: the link waits only for what takes longer than the bytes.
  double seconds_by_ring(const Member& member) const {
    return std::max(0.0, seconds_per_fragment() - link.of(member.task.ends.size_bytes));
  }
};

/// True if the copy could be made together with others by that path.
bool ManyChooser::may_join(const Member& member, CopyPath path) {
  const Task& task = member.task;
  const bool fits = path == CopyPath::kernel ? task.ends.size_bytes <= PieceMover::kMaxPieceBytes
                                             : task.crossing.host_kind == MemoryKind::pageable;
  return fits && task.crosses && !task.ends.may_vanish() && !task.ends.spans_registrations &&
         !member.request.path;
}

double ManyChooser::single_seconds(const Member& member, Group& group) const {
  DevicePaths& device = *group.device;
  const Task& task = member.task;
  AlikeCopies& alike = group.alike.place_of(task.crossing);
  if (!alike.include(task.crossing)) {
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
  // The call waits only once for all of them, which the driver makes one after the other: 256 took
  // 666 us. Source: benchmarks/link/h100.
  return std::max(2.5e-6, group.link.of(task.ends.size_bytes));
}

/// Adds a member's share of what the group takes, and of what it would take otherwise.
void ManyChooser::add(Group& group, const Member& member) const {
  const std::size_t size_bytes = member.task.ends.size_bytes;
  const double by_kernel = group.seconds_by_kernel(member) + group.link.of(size_bytes);
  double otherwise = single_seconds(member, group);
  if (group.path == CopyPath::kernel) {
    group.seconds += by_kernel;
  } else {
    group.seconds += group.seconds_by_ring(member);
    if (size_bytes <= PieceMover::kMaxPieceBytes) otherwise = std::min(otherwise, by_kernel);
  }
  group.other_seconds += otherwise;
  group.members.push_back(&member);
  group.size_bytes += size_bytes;
}

std::vector<ManyChooser::Group> ManyChooser::groups_of(std::span<const Member> members,
                                                       CopyPath path,
                                                       const std::vector<bool>& is_taken) const {
  if (members.size() < 2) return {};
  std::vector<Group> groups;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    if (is_taken[i] || !may_join(member, path)) continue;
    DevicePaths* const device = &devices_.at(member.task.device);
    const bool by_caller = path != CopyPath::kernel || member.request.when == Return::complete ||
                           member.task.uploads() || is_direct(member);
    auto known = std::ranges::find_if(
        groups, [&](const Group& group) { return group.takes(member, device, by_caller); });
    if (known == groups.end())
      known = groups.insert(groups.end(), Group(*device, member, path, by_caller));
    if (known->suits(member)) add(*known, member);
  }
  return groups;
}

/// Whether it is possible and would be faster. A graph would read the staging memory at each
/// replay.
bool ManyChooser::pays(Group& group) const {
  if (group.members.size() < 2) return false;
  if (group.path == CopyPath::staged) {
    const Choice whole =
        group.device->best({group.direction, MemoryKind::pageable, group.size_bytes}, true);
    if (whole.path != CopyPath::staged) return false;
    group.seconds += whole.seconds;
  }
  if (group.seconds >= group.other_seconds) return false;
  const ContextOfDevice context(group.device->context());
  if (may_be_captured(driver_, group.stream)) return false;
  return group.path != CopyPath::kernel || devices_.kernel_obstacle(*group.device).empty();
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
  const bool by_ring = group.path == CopyPath::staged;
  plan.crossing = {group.direction, by_ring ? MemoryKind::pageable : MemoryKind::pinned,
                   group.size_bytes};
  plan.ends = ends_of(plan.crossing, nullptr, nullptr);
  plan.device = group.device;
  plan.path = group.path;
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
  for (const CopyPath path : {CopyPath::staged, CopyPath::kernel}) {
    for (Group& group : groups_of(members, path, is_grouped)) {
      if (!pays(group)) continue;
      planned.push_back({plan_of(group), group.members.front()->request});
      planned.back().request.when = group.when;
      for (const Member* member : group.members)
        is_grouped[static_cast<std::size_t>(member - members.data())] = true;
    }
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
