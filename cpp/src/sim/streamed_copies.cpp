#include "sim/streamed_copies.hpp"

#include <algorithm>
#include <utility>

namespace isthmus::sim {

StreamedCopies::StreamedCopies(CopyPlan plan, bool count_downloads, HostLink& link,
                               Traffic& traffic)
    : plan_(std::move(plan)), count_downloads_(count_downloads), link_(link), traffic_(traffic) {}

// Downloads first: an upload may wait for one of them.
void StreamedCopies::launches_ended(std::uint32_t num_launches, Picoseconds time_ps) {
  while (book_download(num_launches, time_ps)) continue;
  while (book_upload(num_launches, time_ps)) continue;
}

bool StreamedCopies::book_download(std::uint32_t num_launches, Picoseconds time_ps) {
  const std::size_t next = downloaded_ps_.size() - 1;
  if (next == plan_.downloads.size()) return false;
  const PlannedCopy& copy = plan_.downloads[next];
  if (copy.after_launches > num_launches) return false;
  Picoseconds done = time_ps;
  if (count_downloads_) {
    traffic_.copied_to_cpu += copy.size_bytes;
    done = link_.to_cpu(time_ps, copy.size_bytes);
  }
  downloaded_ps_.push_back(std::max(downloaded_ps_.back(), done));
  return true;
}

bool StreamedCopies::book_upload(std::uint32_t num_launches, Picoseconds time_ps) {
  const std::size_t next = uploaded_ps_.size() - 1;
  if (next == plan_.uploads.size()) return false;
  const PlannedCopy& copy = plan_.uploads[next];
  if (copy.after_launches > num_launches) return false;
  if (copy.after_downloads >= downloaded_ps_.size()) return false;
  traffic_.copied_to_gpu += copy.size_bytes;
  const Picoseconds start = std::max(time_ps, downloaded_ps_[copy.after_downloads]);
  uploaded_ps_.push_back(link_.to_gpu(start, copy.size_bytes));
  return true;
}

Picoseconds StreamedCopies::arrived_ps(std::uint32_t launch, std::uint32_t cta) const {
  const std::vector<std::uint32_t>& chunks = plan_.launches[launch].chunks;
  return cta < chunks.size() ? uploaded_ps_[chunks[cta]] : 0;
}

Picoseconds StreamedCopies::stores_may_begin_ps(std::uint32_t launch) const {
  return downloaded_ps_[plan_.launches[launch].after_downloads];
}

Picoseconds StreamedCopies::end_ps() const {
  return std::max(uploaded_ps_.back(), downloaded_ps_.back());
}

}  // namespace isthmus::sim
