// A native object that one thread may close while others call it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "driver/forks.hpp"

/// Called without the GIL: a call may wait for the device, and closing waits for calls. In a forked
/// child its locks may be held for ever by a thread of the parent: nothing there takes one.
///
/// Object      has finish(), which may throw, and give_up()
template <typename Object>
class OpenObject {
public:
  /// what        names it in messages: "this paged array"
  OpenObject(std::unique_ptr<Object> object, const char* what)
      : what_(what), object_(std::move(object)) {}

  /// Calls use(object). Nobody closes it meanwhile.
  ///
  /// Throws      UsageError if it was closed before, and in a forked child
  template <typename Use>
  auto call(const Use& use) const {
    isthmus::require_own_process(process_, what_);
    const std::shared_lock lock(closing_);
    if (object_ == nullptr) throw isthmus::UsageError(std::string(what_) + " was closed");
    return use(*object_);
  }
  /// Writes back what was stored, and ends the object. If that fails it goes on. In a forked child it
  /// does nothing: what was stored is the parent's.
  void close() {
    end([](Object& object) { object.finish(); });
  }
  /// Ends the object, and loses what was stored and not written back.
  void give_up() {
    end([](Object& object) { object.give_up(); });
  }
  /// Ends the object after finish(object), unless that throws.
  template <typename Finish>
  void end(const Finish& finish) {
    if (process_ != isthmus::process_generation()) return;
    const std::unique_lock lock(closing_);
    if (object_ == nullptr) return;
    finish(*object_);
    object_.reset();
  }

private:
  const char* what_;
  std::uint64_t process_ = isthmus::process_generation();
  std::unique_ptr<Object> object_;
  mutable std::shared_mutex closing_;
};
