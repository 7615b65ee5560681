// What a program brings to the GPU beforehand, and what leaves it again, without a fault.
#include <algorithm>

#include "sim/migration/gmmu.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

bool Gmmu::has_frame(std::uint32_t page) const {
  return page < slot_of_page_.size() && slot_of_page_[page] != kNone;
}

std::optional<std::uint64_t> Gmmu::bring(std::uint64_t address, std::uint32_t size_bytes,
                                         Picoseconds time_ps) {
  const std::uint32_t page = map_.page_at(address);
  const bool is_new = !has_frame(page);
  if (is_new && eviction_->framed_bytes() + page_bytes() > memory_bytes_) return std::nullopt;
  if (residency_.valid(map_.first_line(page)) && is_new) return 0;  // it never migrates
  const pages::Answer answer = table_.request(address, size_bytes, false);
  note_page(answer.slot, page);
  if (answer.transfers.empty()) return 0;
  const auto buffer = static_cast<std::uint32_t>(entries_used_.size() - 1);
  const std::uint32_t migration = start(answer, page, buffer);
  const std::uint64_t bytes = migrations_[migration].size_bytes;
  migrations_[migration].handled_ps = std::max(time_ps, schedule_.now_ps());
  occupy_and_transfer(migration);
  return bytes;
}

bool Gmmu::make(std::uint64_t address, std::uint32_t size_bytes) {
  const std::uint32_t page = map_.page_at(address);
  const bool is_new = !has_frame(page);
  if (is_new && eviction_->framed_bytes() + page_bytes() > memory_bytes_) return false;
  if (residency_.valid(map_.first_line(page)) && is_new) return true;
  const pages::Answer answer = table_.request(address, size_bytes, false);
  note_page(answer.slot, page);
  for (const pages::Span span : answer.transfers) {
    eviction_->started(answer.slot, span);
    table_.arrived(answer.slot, answer.epoch, span);
    const auto first = static_cast<std::uint32_t>(span.offset_bytes / trace::kLineBytes);
    residency_.make_valid(map_.first_line(page) + first, lines_of(span));
  }
  return true;
}

std::uint64_t Gmmu::drop(std::uint64_t address, std::uint64_t size_bytes, bool go_back) {
  std::uint64_t dropped = 0;
  std::uint64_t last_block = ~std::uint64_t{0};
  const std::uint64_t page_bytes = this->page_bytes();
  const std::uint64_t unit = table_.policy().unit_bytes;
  for_placed_pages(address, size_bytes, [&](std::uint64_t page_address) {
    const std::uint32_t page = map_.page_at(page_address);
    if (!has_frame(page)) return;
    const std::uint64_t begin = std::max(address, page_address) / unit * unit;
    const std::uint64_t end = std::min(address + size_bytes, page_address + page_bytes);
    const pages::Span part{static_cast<std::uint32_t>(begin - page_address),
                           static_cast<std::uint32_t>((end - begin + unit - 1) / unit * unit)};
    const std::uint32_t slot = slot_of_page_[page];
    const std::uint32_t bytes = table_.evict(slot, part);
    if (bytes == 0) return;
    const auto first = static_cast<std::uint32_t>(part.offset_bytes / trace::kLineBytes);
    residency_.make_invalid(map_.first_line(page) + first, lines_of(part));
    residency_.leave(page);
    if (table_.page(slot).planned_bytes == 0) eviction_->left(slot);
    if (go_back) {
      ++result_.cpu_requests;
      count_returned(page_address + part.offset_bytes, bytes, last_block);
    }
    dropped += bytes;
  });
  if (go_back) result_.traffic.returned_to_cpu += dropped;
  return dropped;
}

}  // namespace isthmus::sim
