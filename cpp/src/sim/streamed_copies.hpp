// Copies that run in streams beside kernels: each is booked on the link as soon as it may begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/copy_plan.hpp"
#include "sim/link.hpp"
#include "sim/result.hpp"

namespace isthmus::sim {

class StreamedCopies {
public:
  /// link, traffic    outlive this object
  /// count_downloads  false: they take no time
  StreamedCopies(CopyPlan plan, bool count_downloads, HostLink& link, Traffic& traffic);

  /// `num_launches` launches have ended, the last of them at `time_ps`: books what may begin.
  void launches_ended(std::uint32_t num_launches, Picoseconds time_ps);

  /// When CTA `cta` of a launch has its chunks. All launches before it must have ended.
  Picoseconds arrived_ps(std::uint32_t launch, std::uint32_t cta) const;
  /// When the downloads of bytes that a launch stores to are done.
  Picoseconds stores_may_begin_ps(std::uint32_t launch) const;
  /// When all copies that were booked are done.
  Picoseconds end_ps() const;

private:
  bool book_download(std::uint32_t num_launches, Picoseconds time_ps);
  bool book_upload(std::uint32_t num_launches, Picoseconds time_ps);

  CopyPlan plan_;
  bool count_downloads_;
  HostLink& link_;
  Traffic& traffic_;
  std::vector<Picoseconds> uploaded_ps_{0};    // [n]: when the first n chunks have arrived
  std::vector<Picoseconds> downloaded_ps_{0};  // [n]: the first n downloads
};

}  // namespace isthmus::sim
