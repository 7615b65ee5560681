// What kernels tell the CPU about indices outside their pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/buffers.hpp"
#include "device/stream.hpp"

namespace isthmus::transfer {

class IndexReport;

/// The words that kernels of one device write to: one for each copy that reads indices there. May be
/// used from any thread; lives as long as any of its words.
class IndexReports : public std::enable_shared_from_this<IndexReports> {
public:
  explicit IndexReports(const Context& context);

  /// A word for a copy. Null if all are in use: then the copy has that of everybody.
  std::shared_ptr<IndexReport> take();
  /// Of copies that have none of their own: those of graphs that keep nothing. Never given away.
  std::uint64_t address_of_everybody() const noexcept { return address(0); }
  /// Takes what a kernel has found, of whatever copy: the lowest position of one of them.
  ///
  /// Returns     the error's text; empty if there is nothing
  std::string take_any();
  /// Keeps the word of a copy that nobody waits for until that has ended; after end() it waits itself.
  ///
  /// Throws      std::bad_alloc, DriverError
  void keep(std::shared_ptr<IndexReport> report, Completion end);
  /// Waits for what keep() was given, and lets go of it.
  void end() noexcept;

private:
  friend class IndexReport;
  static constexpr std::size_t kNumWords = std::size_t{1} << 16U;

  std::uint64_t& word(std::size_t i) const noexcept {
    return reinterpret_cast<std::uint64_t*>(words_.data())[i];
  }
  std::uint64_t address(std::size_t i) const noexcept {
    return reinterpret_cast<std::uint64_t>(&word(i));
  }
  void give_back(std::size_t i) noexcept;

  using Kept = std::list<std::pair<std::shared_ptr<IndexReport>, Completion>>;

  Context context_;
  PinnedBuffer words_;
  std::mutex mutex_;
  std::vector<std::size_t> free_;  ///< has room for all
  Kept kept_;
  bool ended_ = false;
};

/// The word of one copy, or of all runs of a prepared one. What nobody was told when it is destroyed
/// remains for IndexReports::take_any().
class IndexReport {
public:
  IndexReport(std::shared_ptr<IndexReports> all, std::size_t place)
      : all_(std::move(all)), place_(place) {}
  ~IndexReport() { all_->give_back(place_); }
  IndexReport(const IndexReport&) = delete;
  IndexReport& operator=(const IndexReport&) = delete;

  std::uint64_t address() const noexcept { return all_->address(place_); }
  /// True if a kernel has found a wrong index and nobody has taken it.
  bool has_any() const noexcept;
  /// The text of its error; empty if there is none.
  ///
  /// of          names the copy
  std::string text(const char* of) const;
  /// The same, and takes it.
  std::string take(const char* of);
  /// Call when nobody waits for the copy any more, and it may not have ended.
  static void keep(std::shared_ptr<IndexReport> report, Completion end) {
    IndexReports& all = *report->all_;
    all.keep(std::move(report), std::move(end));
  }

private:
  std::shared_ptr<IndexReports> all_;
  std::size_t place_;
};

}  // namespace isthmus::transfer
