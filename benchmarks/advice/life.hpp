// One life of a host buffer by each way of `isthmus advise`: allocate, copy, free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <isthmus/pinned.hpp>
#include <isthmus/transfer.hpp>

#include "device/buffers.hpp"
#include "measure/loops/after_kernels.hpp"

/// What a program does with one buffer.
struct Question {
  std::size_t size_bytes = 0;
  std::size_t uses = 1;
  std::string buffer;          ///< what exists: "new", "pageable" or "pinned"
  std::size_t up_bytes = 0;    ///< copied to the device at each use; 0: nothing
  std::size_t down_bytes = 0;  ///< copied from the device at each use; 0: nothing
};

/// A way, by the names of python/isthmus/decide/advice/ways.py.
enum class Way {
  pageable,
  pinned,
  registered,
  isthmus,
  new_pinned,
  pool,
  kept_pageable,
  kept_registered,
  kept_isthmus
};
/// Throws std::invalid_argument for another name than "PAGEABLE", "KEPT_ISTHMUS" ...
Way way_named(std::string_view name);
std::string_view name_of(Way way);

/// Seconds of the parts of one life.
struct Parts {
  double prepare = 0;  ///< allocate, touch, pin
  double first = 0;    ///< the copies of the first use
  double others = 0;   ///< the copies of all other uses
  double release = 0;
};

/// What all lives use: a device with a buffer, pools, and the profile that copies are planned with.
class Machine {
public:
  /// max_bytes   the largest buffer of any question
  /// profile     the text of a file of `isthmus profile`; empty: what the environment gives
  Machine(std::size_t max_bytes, const std::string& profile);

  /// Makes the host buffer of questions that have one already. Makes short copies until a window is
  /// open: one that isn't used for 2 s is closed.
  void prepare(const Question& question);
  /// Runs a kernel, as programs do before they copy.
  void run_kernel() const { after_kernels_.run(); }
  /// Lives once. If `parts` isn't null, each part is timed.
  void live(const Question& question, Way way, Parts* parts = nullptr);
  const isthmus::Driver& driver() const { return driver_; }

private:
  class Life;

  isthmus::Driver driver_;
  isthmus::Context context_;
  isthmus::CurrentContext current_;
  isthmus::DeviceBuffer device_;
  isthmus::measure::AfterKernels after_kernels_;
  isthmus::Transfers transfers_;
  isthmus::PinnedPool filled_;
  isthmus::PinnedPool empty_;
  std::byte* kept_ = nullptr;
  bool kept_is_pinned_ = false;
};
