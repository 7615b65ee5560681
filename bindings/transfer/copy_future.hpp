// Copies in progress, as Python holds them.
// What Python's Transfers are made of, for the files that bind its copies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <isthmus/transfer.hpp>

#include "bindings/arrays/export.hpp"
#include "bindings/arrays/reader.hpp"
#include "bindings/gil.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "transfer/copy/copy_keeper.hpp"

/// The Python objects that a copy needs. Created with the GIL held; may be destroyed by any thread.
class PythonNeeds final : public isthmus::transfer::CopyNeeds {
public:
  /// exports     keep the memory of arrays in place
  /// objects     what must stay alive
  /// follow_up   None, or a function to call when the bytes have arrived
  PythonNeeds(std::vector<Export> exports, nanobind::object objects, nanobind::object follow_up)
      : held_(Held{std::move(exports), std::move(objects), std::move(follow_up)}) {}
  ~PythonNeeds() override;

  bool has_follow_up() const noexcept override { return !held_->follow_up.is_none(); }
  void follow_up() override;

private:
  struct Held {
    std::vector<Export> exports;
    nanobind::object objects;
    nanobind::object follow_up;
  };
  std::optional<Held> held_;
};

/// Keeps them alive until the process ends, for a copy that may still be running then.
void keep_until_process_ends(std::unique_ptr<PythonNeeds> needs);

/// A copy in progress. What it needs lives until the copy has ended, even if this object doesn't.
class PythonFuture {
public:
  /// begin       begins the copy; called without the GIL
  /// Throws      what begin() throws
  PythonFuture(std::unique_ptr<PythonNeeds> needs,
               const std::function<isthmus::CopyFuture()>& begin);
  PythonFuture(PythonFuture&&) noexcept = default;
  PythonFuture& operator=(PythonFuture&&) = delete;
  ~PythonFuture();

  /// Called with the GIL held; releases it.
  ///
  /// Returns     false after the timeout
  /// Throws      the copy's error; the exception of a signal handler
  bool wait(std::optional<double> timeout_seconds) const;
  bool ready() const;
  /// False if the copy has begun.
  bool cancel() const;
  /// True if it was taken back by cancel().
  bool cancelled() const noexcept { return kept_->cancelled(); }
  /// Has a function called, without arguments and by any thread, once the copy has ended.
  ///
  /// Throws      isthmus::Unavailable
  void notify(nanobind::object function) const;
  /// The CUevent behind the copy; 0 if there is no such event.
  std::uintptr_t event() const;
  /// True if delay() is possible.
  bool ordered() const;
  /// Makes later work in a CUstream wait for the copy.
  ///
  /// Throws      isthmus::Unavailable, isthmus::DriverError
  void delay(std::uintptr_t stream) const;

private:
  void require_own_process() const;
  bool ended_within(std::optional<double> timeout_seconds) const;

  isthmus::transfer::CopyKeeper* keeper_;
  std::shared_ptr<isthmus::transfer::KeptCopy> kept_;
};

using SharedWindows = Unlocked<isthmus::Windows>;

/// Transfers, and the reader for arrays from Python.
struct ArrayTransfers {
  /// reader      an ArrayReader
  ArrayTransfers(const SharedWindows& windows, nanobind::object reader)
      : transfers(std::make_unique<isthmus::Transfers>(*windows)),
        reader_object(std::move(reader)),
        reader(nanobind::cast<ArrayReader&>(reader_object)) {}
  ArrayTransfers(const ArrayTransfers&) = delete;
  ArrayTransfers& operator=(const ArrayTransfers&) = delete;
  ~ArrayTransfers() {
    // When the interpreter ends, a copy may still wait for a stream that nobody will continue: it
    // ends with the process.
    if (interpreter_is_ending()) {
      [[maybe_unused]] const isthmus::Transfers* const kept = transfers.release();
      return;
    }
    const GilReleased released;  // destroying it may end threads and unpin memory
    transfers.reset();
  }

  isthmus::Transfers* operator->() const noexcept { return transfers.get(); }

  std::unique_ptr<isthmus::Transfers> transfers;
  nanobind::object reader_object;
  ArrayReader& reader;
};

inline constexpr isthmus::MemoryKind kMemoryKinds[] = {
    isthmus::MemoryKind::unknown, isthmus::MemoryKind::pageable, isthmus::MemoryKind::pinned,
    isthmus::MemoryKind::device,  isthmus::MemoryKind::managed,  isthmus::MemoryKind::host};
inline constexpr Word<isthmus::SourceOrder> kSourceOrders[] = {
    {"call", isthmus::SourceOrder::call}, {"stream", isthmus::SourceOrder::stream}};

inline void* address(std::uintptr_t pointer) { return reinterpret_cast<void*>(pointer); }

void bind_address_copies(nanobind::class_<ArrayTransfers>& transfers);
void bind_block_copies(nanobind::module_& m, nanobind::class_<ArrayTransfers>& transfers);
