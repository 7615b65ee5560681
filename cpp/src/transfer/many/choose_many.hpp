// How the copies of one call are made: which together, and which each by itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transfer/plan/choose.hpp"
#include "transfer/plan/device_paths.hpp"

namespace isthmus::transfer {

/// For one size and kind of host memory.
struct AlikeCopies {
  std::size_t size_bytes = 0;
  MemoryKind host_kind = MemoryKind::unknown;
  Choice best;
  std::optional<Choice> without_windows;  ///< set once it was needed

  bool include(const Crossing& crossing) const noexcept {
    return size_bytes == crossing.size_bytes && host_kind == crossing.host_kind;
  }
};

/// Remembers some sizes: finding the cheapest path takes longer than all else in choosing, and the
/// copies of a call mostly have few sizes. For one device and direction.
class AlikeTable {
public:
  /// The only place for what is known about such copies. It may have others now.
  AlikeCopies& place_of(const Crossing& crossing) noexcept {
    // Fibonacci hashing: the highest four bits of a product with 2^64 over the golden ratio.
    return places_[crossing.size_bytes * 0x9e3779b97f4a7c15 >> 60U];
  }

private:
  std::array<AlikeCopies, 16> places_;
};

/// A copy of a call, examined.
struct Member {
  Task task;
  Request request;
  /// When the call may return if the copy is made by itself. Made together with others, the
  /// request's rule can always be kept.
  Return returns_alone = Return::complete;
};

/// A plan of one or of many copies.
struct PlannedCopies {
  Plan plan;
  Request request;
};

/// Chooses for many copies. May be used from any thread.
class ManyChooser {
public:
  ManyChooser(const Driver& driver, Devices& devices, WindowCache& windows, Chooser& chooser)
      : driver_(driver), devices_(devices), windows_(windows), chooser_(chooser) {}

  /// Plans that are ready to be carried, in the order in which they should be begun. Small copies
  /// between the host and a device get one plan together if that is predicted to be faster: by a
  /// kernel. So do copies with pageable memory, of any size: by the staging ring.
  ///
  /// members     checked against each other; none of size 0
  /// Throws      as Chooser::ready().
  std::vector<PlannedCopies> ready(std::span<const Member> members);
  /// The same, but opens nothing: as Chooser::choose().
  std::vector<PlannedCopies> choose(std::span<const Member> members) const;

private:
  struct Group;
  static bool may_join(const Member& member, CopyPath path);
  void add(Group& group, const Member& member) const;
  std::vector<Group> groups_of(std::span<const Member> members, CopyPath path,
                               const std::vector<bool>& is_taken) const;
  bool pays(Group& group) const;
  double single_seconds(const Member& member, Group& group) const;
  Plan plan_of(const Group& group) const;
  template <typename ChooseOne>
  std::vector<PlannedCopies> plan(std::span<const Member> members, ChooseOne choose_one) const;

  const Driver& driver_;
  Devices& devices_;
  WindowCache& windows_;
  Chooser& chooser_;
};

}  // namespace isthmus::transfer
