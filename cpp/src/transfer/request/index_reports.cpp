#include "transfer/request/index_reports.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "device/cleanup.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::uint64_t kNothing = std::numeric_limits<std::uint64_t>::max();

/// What a word says: 2 * position, and 1 more if the source's index is the wrong one.
std::string text_of(std::uint64_t told, const char* of) {
  if (told == kNothing) return {};
  return std::string(told % 2 != 0 ? "source" : "target") + "_index[" + std::to_string(told / 2) +
         "] of " + of +
         " was outside its pool: that block wasn't copied, and nothing was written elsewhere";
}

std::uint64_t taken(std::uint64_t& word) noexcept {
  const std::atomic_ref shared(word);
  return shared.load(std::memory_order_relaxed) == kNothing ? kNothing : shared.exchange(kNothing);
}

}  // namespace

IndexReports::IndexReports(const Context& context)
    : context_(context), words_(context, kNumWords * sizeof(std::uint64_t)) {
  std::fill_n(&word(0), kNumWords, kNothing);
  free_.reserve(kNumWords);
  for (std::size_t i = kNumWords - 1; i > 0; --i) free_.push_back(i);
}

std::shared_ptr<IndexReport> IndexReports::take() {
  Kept ended;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  while (!kept_.empty() && kept_.front().second.state() == Completion::State::reached)
    ended.splice(ended.end(), kept_, kept_.begin());
  if (free_.empty()) return nullptr;
  auto report = std::make_shared<IndexReport>(shared_from_this(), free_.back());
  free_.pop_back();
  return report;
}

std::string IndexReports::take_any() {
  for (std::size_t i = 0; i < kNumWords; ++i)
    if (const std::uint64_t told = taken(word(i)); told != kNothing)
      return text_of(told, "an earlier copy of blocks");
  return {};
}

void IndexReports::keep(std::shared_ptr<IndexReport> report, Completion end) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) return void(kept_.emplace_back(std::move(report), std::move(end)));
  }
  end.wait();
}

void IndexReports::end() noexcept {
  Kept kept;  // destroyed without the lock
  std::unique_lock lock(mutex_);
  ended_ = true;
  kept.swap(kept_);
  lock.unlock();
  Kept unknown;
  while (!kept.empty()) {
    try {
      kept.front().second.wait();
      kept.pop_front();
    } catch (...) {  // nobody knows what is under way: it keeps this
      unknown.splice(unknown.end(), kept, kept.begin());
      note_leaked(this);
    }
  }
  lock.lock();
  kept_.swap(unknown);
}

/// A forked child takes no lock: a thread of the parent's may hold it for ever.
void IndexReports::give_back(std::size_t i) noexcept {
  if (!context_.in_own_process()) return;
  const std::uint64_t told = taken(word(i));
  const std::lock_guard lock(mutex_);
  if (told != kNothing) {
    const std::atomic_ref everybody(word(0));
    std::uint64_t before = everybody.load();
    while (told < before && !everybody.compare_exchange_weak(before, told)) {
    }
  }
  free_.push_back(i);
}

bool IndexReport::has_any() const noexcept {
  return std::atomic_ref(all_->word(place_)).load() != kNothing;
}

std::string IndexReport::text(const char* of) const {
  return text_of(std::atomic_ref(all_->word(place_)).load(), of);
}

std::string IndexReport::take(const char* of) { return text_of(taken(all_->word(place_)), of); }

}  // namespace isthmus::transfer
