#include "bindings/transfer/copy_future.hpp"

#include <nanobind/stl/optional.h>

#include <isthmus/errors.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "bindings/bindings.hpp"
#include "device/cleanup.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::transfer::CopyKeeper;

namespace {

using Clock = std::chrono::steady_clock;
// Most copies end before a sleep would.
constexpr std::chrono::microseconds kSpin{100};
// A sleep adds at most a sixteenth to the time waited, and Ctrl-C is handled soon.
constexpr int kSleepsPerWait = 16;
constexpr std::chrono::microseconds kLongestSleep{10'000};

/// The text of the pending Python error; clears it. Call with the GIL held.
std::string pending_error() {
  const nb::python_error error;
  return error.what();
}

/// Nobody is left to receive an exception.
void warn_of_failure(const std::string& failure) {
  if (interpreter_is_ending()) return;
  const GilHeld held;
  into_python([&] {
    const std::string text = "a copy whose future was dropped has failed: " + failure;
    PyObject* const module = PyImport_ImportModule("isthmus.errors");
    PyObject* const category =
        module == nullptr ? nullptr : PyObject_GetAttrString(module, "IsthmusWarning");
    // If warnings are errors: report it like an exception in a destructor.
    if (category == nullptr || PyErr_WarnEx(category, text.c_str(), 1) != 0)
      PyErr_WriteUnraisable(nullptr);
    Py_XDECREF(category);
    Py_XDECREF(module);
  });
}

/// Calls it with the GIL, which is taken once then for all copies that have ended.
void with_gil(const std::function<void()>& call) {
  const GilHeld held;
  call();
}

/// This process's keeper; null before the first copy. Call with the GIL held. Never destroyed:
/// copies may run for as long as the process lives.
CopyKeeper*& keeper_of_process() {
  static CopyKeeper* keeper = nullptr;
  if (keeper != nullptr && !keeper->in_own_process()) {
    isthmus::note_leaked(keeper);  // the parent's
    keeper = nullptr;
  }
  return keeper;
}

CopyKeeper& keeper() {
  CopyKeeper*& keeper = keeper_of_process();
  if (keeper == nullptr) keeper = new CopyKeeper(warn_of_failure, with_gil);
  return *keeper;
}

/// Afterwards everything is kept until the process ends.
bool keeping_has_ended = false;

void throw_if_interrupted() {
  if (!signal_has_raised()) return;
  const GilHeld held;
  throw nb::python_error();
}

/// Some objects of this module stay alive on purpose.
void expect_leaks() { nb::set_leak_warnings(false); }

void end_copies(double timeout_seconds) {
  keeping_has_ended = true;
  CopyKeeper* const keeper = keeper_of_process();
  if (keeper == nullptr) return;
  bool all = false;
  {
    const GilReleased released;
    const std::chrono::duration<double> timeout(timeout_seconds);
    all = keeper->end(std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
  }
  if (!all) expect_leaks();
}

}  // namespace

// --- what a copy needs ---------------------------------------------------------------------------

PythonNeeds::~PythonNeeds() {
  const GilHeld held;
  into_python([this] { held_.reset(); });
}

void PythonNeeds::follow_up() {
  if (!has_follow_up()) return;
  const GilHeld held;
  PyObject* const result =
      into_python([this] { return PyObject_CallNoArgs(held_->follow_up.ptr()); });
  if (result == nullptr)
    throw isthmus::Unavailable("unpacking into the host's array", into_python(pending_error),
                               "memory for NumPy's work");
  into_python([result] { Py_DECREF(result); });
}

void keep_until_process_ends(std::unique_ptr<PythonNeeds> needs) {
  expect_leaks();
  isthmus::keep_until_process_ends(std::move(needs));
}

// --- a copy --------------------------------------------------------------------------------------

PythonFuture::PythonFuture(std::unique_ptr<PythonNeeds> needs,
                           const std::function<isthmus::CopyFuture()>& begin)
    : keeper_(&keeper()) {
  if (keeping_has_ended) expect_leaks();
  const GilReleased released;
  kept_ = keeper_->begin(std::move(needs), begin);
}

PythonFuture::~PythonFuture() {
  if (kept_ != nullptr && keeper_->in_own_process()) keeper_->drop(kept_);
}

void PythonFuture::require_own_process() const { keeper_->require_own_process(); }

/// Polls instead of waiting, so that a timeout and Ctrl-C can end it. Called without the GIL.
bool PythonFuture::ended_within(std::optional<double> timeout_seconds) const {
  const Clock::time_point began = Clock::now();
  while (!keeper_->ask_waiting(kept_)) {
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
    if (timeout_seconds && std::chrono::duration<double>(waited).count() >= *timeout_seconds)
      return false;
    if (waited < kSpin) continue;
    std::this_thread::sleep_for(std::clamp(waited / kSleepsPerWait, kSpin / 2, kLongestSleep));
    throw_if_interrupted();
  }
  return true;
}

bool PythonFuture::wait(std::optional<double> timeout_seconds) const {
  require_own_process();
  const std::shared_ptr<isthmus::transfer::KeptCopy> kept = kept_;
  const GilReleased released;
  if (!ended_within(timeout_seconds)) return false;
  kept->rethrow();
  return true;
}

bool PythonFuture::ready() const {
  require_own_process();
  const GilReleased released;
  return keeper_->ask(kept_);
}

bool PythonFuture::cancel() const {
  require_own_process();
  const GilReleased released;
  return keeper_->cancel(kept_);
}

namespace {

/// A Python function that any thread may call, once.
class Callback {
public:
  explicit Callback(nb::object function) : function_(std::move(function)) {}
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  ~Callback() {
    const GilHeld held;
    into_python([this] { function_.reset(); });
  }

  void call() const {
    const GilHeld held;
    into_python([this] {
      PyObject* const result = PyObject_CallNoArgs(function_.ptr());
      if (result == nullptr) PyErr_WriteUnraisable(function_.ptr());
      Py_XDECREF(result);
    });
  }

private:
  nb::object function_;
};

}  // namespace

void PythonFuture::notify(nb::object function) const {
  require_own_process();
  auto callback = std::make_shared<Callback>(std::move(function));
  const GilReleased released;
  keeper_->watch(kept_, [callback = std::move(callback)] { callback->call(); });
}

std::uintptr_t PythonFuture::event() const {
  require_own_process();
  const GilReleased released;
  return kept_->copy().event();
}

bool PythonFuture::ordered() const {
  require_own_process();
  const GilReleased released;
  return kept_->copy().ordered();
}

void PythonFuture::delay(std::uintptr_t stream) const {
  require_own_process();
  const GilReleased released;
  kept_->copy().delay(stream);
}

// --- bindings ------------------------------------------------------------------------------------

void bind_copy_future(nb::module_& m) {
  nb::class_<PythonFuture>(m, "CopyFuture",
                           "A copy in progress. What the copy needs is kept until it has ended.")
      .def("wait", &PythonFuture::wait, "timeout_seconds"_a = nb::none(),
           "True once the copy has ended, False after the timeout. Raises the copy's error if it "
           "failed.")
      .def("ready", &PythonFuture::ready, "True once wait() would return or raise at once.")
      .def("cancel", &PythonFuture::cancel,
           "Take back a copy that hasn't begun. False if it has; it goes on.")
      .def("cancelled", &PythonFuture::cancelled, "True if cancel() has taken it back.")
      .def("ordered", &PythonFuture::ordered,
           "True if a stream orders the copy, so that delay() is possible, or it is complete.")
      .def("notify", &PythonFuture::notify, "function"_a,
           "Have a function called by any thread, without arguments, once the copy has ended. Call "
           "this at most once.")
      .def(
          "event", &PythonFuture::event,
          "The CUevent behind the copy, valid as long as this object; 0 if no event marks its end.")
      .def("delay", &PythonFuture::delay, "stream"_a,
           "Make later work in a CUstream wait for the copy. Unavailable if a thread makes it.");
  m.def("end_copies", &end_copies, "timeout_seconds"_a,
        "Wait for copies in progress. Copies that take longer, or begin later, keep what they need "
        "until the process ends.");
  m.def(
      "keep_forever",
      [](nb::object object) {
        expect_leaks();
        object.release();
      },
      "object"_a,
      "Keep an object alive until the process ends, for a copy that may outlive the interpreter.");
}
