// Many copies by one call: all are examined and planned before the first begins.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "transfer/carriers/carriers.hpp"
#include "transfer/many/choose_many.hpp"
#include "transfer/request/host_memory.hpp"

namespace isthmus::transfer {

/// Makes the copies of a call. May be used from any thread.
class ManyCopies {
public:
  ManyCopies(const Driver& driver, const HostMemory& host_memory, Devices& devices,
             WindowCache& windows, Chooser& chooser, Carriers& carriers)
      : driver_(driver),
        host_memory_(host_memory),
        devices_(devices),
        chooser_(chooser),
        many_chooser_(driver, devices, windows, chooser),
        carriers_(carriers) {}

  /// As Transfers::copy_many().
  void copy(std::span<const ManyCopy> copies) { begin(plan(copies, Return::complete)); }
  /// As Transfers::copy_many_async().
  std::shared_ptr<PendingCopy> copy_async(std::span<const ManyCopy> copies,
                                          SourceOrder source_order);
  /// As Transfers::explain_many().
  std::vector<PathShare> explain(std::span<const ManyCopy> copies);

private:
  std::vector<Member> examine_all(std::span<const ManyCopy> copies, Return when);
  bool find_idle(std::span<const Member> members);
  std::vector<PlannedCopies> plan(std::span<const ManyCopy> copies, Return when);
  std::vector<bool> begin_beside(std::span<const PlannedCopies> planned,
                                 std::vector<std::shared_ptr<PendingCopy>>& begun);
  std::vector<std::shared_ptr<PendingCopy>> begin(std::span<const PlannedCopies> planned);

  const Driver& driver_;
  const HostMemory& host_memory_;
  Devices& devices_;
  Chooser& chooser_;
  ManyChooser many_chooser_;
  Carriers& carriers_;
};

}  // namespace isthmus::transfer
