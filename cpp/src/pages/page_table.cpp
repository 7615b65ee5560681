#include "pages/page_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include <isthmus/errors.hpp>

#include "pages/page.hpp"
#include "pages/page_machine.hpp"
#include "pages/policy_names.hpp"

namespace isthmus::pages {

std::uint32_t WordArena::allocate() {
  if (free_.empty()) {
    words_.resize(words_.size() + stride_);
    return static_cast<std::uint32_t>(words_.size() / stride_ - 1);
  }
  const std::uint32_t block = free_.back();
  free_.pop_back();
  std::memset((*this)[block], 0, std::size_t{stride_} * sizeof(std::uint64_t));
  return block;
}

namespace {

std::uint32_t shift_of(std::uint32_t power_of_two) {
  return static_cast<std::uint32_t>(std::countr_zero(power_of_two));
}

/// The unit of validity: what the kind requests, or a line if lines can be valid alone.
std::uint32_t granule_bytes(const MigrationPolicy& policy) {
  if (policy.write == WriteMiss::validate) return policy.line_bytes;
  switch (policy.kind) {
    case PolicyKind::whole_page:
    case PolicyKind::zero_copy:
      return policy.page_bytes;
    case PolicyKind::single_range:
    case PolicyKind::ranges:
      return policy.request == RequestedLength::line ? policy.line_bytes : policy.unit_bytes;
    default:
      return policy.unit_bytes;
  }
}

std::uint32_t num_spans(const MigrationPolicy& policy) {
  if (policy.kind == PolicyKind::single_range) return 1;
  return policy.kind == PolicyKind::ranges ? policy.max_ranges + 1 : 0;
}

}  // namespace

Geometry geometry_of(const MigrationPolicy& policy) {
  check(policy);
  Geometry geometry;
  geometry.policy = policy;
  MigrationPolicy& own = geometry.policy;
  // Nothing extends beyond its page.
  own.grow_bytes = std::max(own.unit_bytes, std::min(own.grow_bytes, own.page_bytes));
  own.prefetch_bytes = std::min(own.prefetch_bytes, own.page_bytes);
  own.counter_bytes = std::min(own.counter_bytes, own.page_bytes);
  own.max_unit_bytes = std::min(own.max_unit_bytes, own.page_bytes);
  geometry.page_shift = shift_of(own.page_bytes);
  geometry.granule_shift = shift_of(granule_bytes(own));
  geometry.num_granules = own.page_bytes >> geometry.granule_shift;
  geometry.bitmap_words = (geometry.num_granules + kWordBits - 1) / kWordBits;
  geometry.spans_at = 2 * geometry.bitmap_words;
  geometry.counters_at = geometry.spans_at + num_spans(own);
  const bool counts = own.kind == PolicyKind::access_counter;
  geometry.num_words = geometry.counters_at + (counts ? own.page_bytes / own.counter_bytes : 0);
  return geometry;
}

/// Keeps the table's sums up to date while a page changes.
class PageTable::Change {
public:
  Change(PageTable& table, std::uint32_t slot) : table_(table), slot_(slot) {
    table_.valid_bytes_ -= page().valid_bytes;
    table_.planned_bytes_ -= page().planned_bytes;
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() {
    table_.valid_bytes_ += page().valid_bytes;
    table_.planned_bytes_ += page().planned_bytes;
  }

private:
  const Page& page() const { return table_.pages_[slot_]; }

  PageTable& table_;
  std::uint32_t slot_;
};

PageTable::PageTable(const MigrationPolicy& policy, OwnRun* own)
    : geometry_(geometry_of(policy)), own_(own), blocks_(geometry_.num_words) {
  if (policy.kind == PolicyKind::own && own == nullptr)
    throw UsageError("the kind own needs a policy of your own: name its library");
}

Answer PageTable::miss(std::uint32_t slot, Span wanted, bool is_write) {
  Page& page = pages_[slot];
  // Pages that never migrate have no state.
  if (policy().kind == PolicyKind::zero_copy) return {Outcome::remote, slot, page.epoch, {}};
  const Change change(*this, slot);
  if (page.block == kNoBlock) page.block = blocks_.allocate();
  transfers_.clear();
  Outcome outcome =
      PageMachine(geometry_, page, blocks_[page.block])
          .miss(wanted, is_write, [this](Span transfer) { transfers_.push_back(transfer); });
  if (own_ != nullptr && outcome == Outcome::migrate) outcome = ask_own(slot, wanted, is_write);
  note_whole(slot);
  return {outcome, slot, page.epoch, transfers_};
}

/// The request is served remotely unless the answer contains it.
Outcome PageTable::ask_own(std::uint32_t slot, Span wanted, bool is_write) {
  Page& page = pages_[slot];
  std::uint64_t* const words = blocks_[page.block];
  const std::uint64_t* const valid = words + geometry_.bitmap_words;
  const auto [offset_bytes, length_bytes] = wanted;
  const isthmus_access access{
      page_number(slot), offset_bytes, length_bytes, is_write, 0, words, valid};
  const Span asked = aligned(wanted, 1U << geometry_.granule_shift);
  PageMachine machine(geometry_, page, words);
  bool contains = false;
  for (const Span span : own_->on_access(access)) {
    const Span region = aligned(span, policy().unit_bytes);
    contains = contains || region.contains(asked);
    machine.bring(region, asked, [this](Span transfer) { transfers_.push_back(transfer); });
  }
  if (contains) return Outcome::migrate;
  if (!own_->serves_remotely()) own_->refuse_left_out(access);
  return Outcome::remote;
}

void PageTable::refuse(std::uint64_t address, std::uint32_t length_bytes) const {
  throw UsageError("a request for " + std::to_string(length_bytes) + " bytes at address " +
                   std::to_string(address) + " isn't within one page of " +
                   std::to_string(policy().page_bytes) + " bytes: ask page by page");
}

bool PageTable::arrived(std::uint32_t slot, std::uint32_t epoch, Span transfer) {
  if (slot >= pages_.size() || transfer.end_bytes() > policy().page_bytes)
    throw UsageError("no transfer of this table arrived: slot " + std::to_string(slot) +
                     ", bytes up to " + std::to_string(transfer.end_bytes()));
  Page& page = pages_[slot];
  if (page.epoch != epoch || page.under_way == 0) return false;
  page.under_way -= 1;
  // Other transfers of the same bytes may have completed it already.
  if (page.block == kNoBlock) return false;
  const Change change(*this, slot);
  const bool has_changed = PageMachine(geometry_, page, blocks_[page.block]).arrived(transfer);
  note_whole(slot);
  return has_changed;
}

void PageTable::grow() {
  pages_.resize(index_.num_slots());
  whole_.resize(index_.num_slots() / kWordBits);
}

/// A page that is entirely on the GPU needs no words.
void PageTable::note_whole(std::uint32_t slot) {
  Page& page = pages_[slot];
  if (page.valid_bytes != policy().page_bytes) return;
  UnitBitmap(whole_.data()).set(slot, slot + 1);
  if (page.block != kNoBlock) blocks_.free(page.block);
  page.block = kNoBlock;
  page.num_ranges = 0;
}

std::uint32_t PageTable::cpu_request(std::uint64_t page_number) {
  return clear(slot_of(page_number));
}

std::uint32_t PageTable::clear(std::uint32_t slot) {
  Page& page = pages_.at(slot);
  const std::uint32_t bytes = page.valid_bytes;
  valid_bytes_ -= page.valid_bytes;
  planned_bytes_ -= page.planned_bytes;
  if (page.block != kNoBlock) blocks_.free(page.block);
  const std::uint32_t epoch = page.epoch + 1;
  page = Page{};
  page.epoch = epoch;
  UnitBitmap(whole_.data()).clear(slot, slot + 1);
  return bytes;
}

std::uint32_t PageTable::evict(std::uint32_t slot, Span part) {
  if (part == Span{0, policy().page_bytes}) return clear(slot);
  Page& page = pages_.at(slot);
  if (page.planned_bytes == 0) return 0;
  const Change change(*this, slot);
  if (page.block == kNoBlock) {
    page.block = blocks_.allocate();
    PageMachine(geometry_, page, blocks_[page.block]).restore();
    UnitBitmap(whole_.data()).clear(slot, slot + 1);
  }
  return PageMachine(geometry_, page, blocks_[page.block]).evict(part);
}

void PageTable::make_resident(std::uint64_t address, std::uint64_t size_bytes) {
  if (size_bytes == 0) return;
  const std::uint64_t last = page_number_of(address + size_bytes - 1);
  for (std::uint64_t number = page_number_of(address); number <= last; ++number) {
    const std::uint32_t slot = slot_of(number);
    clear(slot);
    pages_[slot].valid_bytes = pages_[slot].planned_bytes = policy().page_bytes;
    valid_bytes_ += policy().page_bytes;
    planned_bytes_ += policy().page_bytes;
    note_whole(slot);
  }
}

template <class Run>
void PageTable::for_each_range(std::uint32_t slot, Run run) const {
  const Page& page = pages_.at(slot);
  if (page.valid_bytes == policy().page_bytes) return run(0, geometry_.num_granules);
  if (page.block == kNoBlock) return;
  const std::uint64_t* const valid = blocks_[page.block] + geometry_.bitmap_words;
  for_each_run(0, geometry_.num_granules, [&](std::uint32_t index) { return valid[index]; }, run);
}

std::vector<Span> PageTable::ranges(std::uint32_t slot) const {
  std::vector<Span> found;
  for_each_range(slot, [&](std::uint32_t first, std::uint32_t end) {
    found.push_back(span_between(first << geometry_.granule_shift, end << geometry_.granule_shift));
  });
  return found;
}

std::uint32_t PageTable::num_ranges(std::uint32_t slot) const {
  std::uint32_t num = 0;
  for_each_range(slot, [&](std::uint32_t, std::uint32_t) { ++num; });
  return num;
}

}  // namespace isthmus::pages
