// Copies under way, as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <isthmus/transfer.hpp>

#include <functional>
#include <memory>
#include <optional>

#include "arrays/export.hpp"
#include "transfer/copy/copy_keeper.hpp"

/// The Python objects that a copy needs. Made with the GIL held; destroyed by any thread.
class PythonNeeds final : public isthmus::transfer::CopyNeeds {
public:
  /// objects     whatever must live
  /// follow_up   None, or what is called when the bytes are there
  PythonNeeds(nanobind::object objects, Export target, Export source, nanobind::object follow_up)
      : held_(
            Held{std::move(target), std::move(source), std::move(objects), std::move(follow_up)}) {}
  ~PythonNeeds() override;

  bool has_follow_up() const noexcept override { return !held_->follow_up.is_none(); }
  void follow_up() override;

private:
  struct Held {
    Export target;
    Export source;
    nanobind::object objects;
    nanobind::object follow_up;
  };
  std::optional<Held> held_;
};

/// Lets them live until the process ends, for a copy that may still be under way then.
void keep_until_process_ends(std::unique_ptr<PythonNeeds> needs);

/// A copy under way. What it needs lives until the copy has ended, whether this does or not.
class PythonFuture {
public:
  /// begin       begins the copy; called without the GIL
  /// Throws      what begin() throws
  PythonFuture(std::unique_ptr<PythonNeeds> needs,
               const std::function<isthmus::CopyFuture()>& begin);
  PythonFuture(PythonFuture&&) noexcept = default;
  PythonFuture& operator=(PythonFuture&&) = delete;
  ~PythonFuture();

  /// Called with the GIL held; gives it up.
  ///
  /// Returns     false if the time was up first
  /// Throws      what the copy has failed with; what a signal's handler has raised
  bool wait(std::optional<double> timeout_seconds) const;
  bool ready() const;

private:
  void require_own_process() const;
  bool ended_within(std::optional<double> timeout_seconds) const;

  isthmus::transfer::CopyKeeper* keeper_;
  std::shared_ptr<isthmus::transfer::KeptCopy> kept_;
};
