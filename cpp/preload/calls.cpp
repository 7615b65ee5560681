#include "preload/calls.hpp"

#include "preload/binding.hpp"
#include "preload/replacing.hpp"
#include "preload/settings.hpp"
#include "preload/sites.hpp"
#include "preload/waiting.hpp"

namespace isthmus::preload {
namespace {

constexpr u64 kLongCallNs = 10'000;
/// A native site takes 3 to 10 us, and so at most a hundredth of the time in calls that it is paid with. A
/// loop of 100 tiny copies is a finding: the first calls of a thread have their sites on credit.
constexpr u64 kNativeSiteNs = 1'000'000;
constexpr u64 kNativeCreditNs = 127 * kNativeSiteNs;

bool crosses_pageable(const What& what) {
  return (what.source == kPageable && what.target == kDevice) ||
         (what.source == kDevice && what.target == kPageable);
}

bool is_staged_at_once(const What& what) {
  return what.source == kPageable && what.bytes <= kMostStaged;
}

/// The driver returns only after the earlier work of the copy's stream, whatever else it does.
bool waits(const Entry& entry, const What& what) {
  return crosses_pageable(what) && !(entry.asynchronous && is_staged_at_once(what));
}

bool is_captured(const Entry& entry, const What& what) {
  if (num_captures() <= 0 || driver.is_capturing == nullptr) return false;
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUstream stream = stream_of(entry, what);
  if (stream == CU_STREAM_LEGACY) return false;
  return driver.is_capturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// What was pageable when it was asked for may be pinned since: another buffer began on its page. Then
/// nothing may wait.
bool is_still_pageable(What& what) {
  const bool is_up = what.source == kPageable;
  Kind& kind = is_up ? what.source : what.target;
  kind = kind_now(is_up ? what.from : what.to);
  return kind == kPageable;
}

/// Waits where the driver would wait, so that kernels' time is told from the copy's. What the wait
/// fails with, the copy fails with.
void begin_copy(const Entry& entry, What& what, Taken& taken) {
  taken.captured = is_captured(entry, what);
  if (!waits(entry, what) || what.bytes <= kMostSmall || num_captures() > 0) return;
  if (!what.linear || !is_still_pageable(what)) return;
  const bool is_to_be_replaced = !is_staged_at_once(what) && is_replaceable(what);
  const CUresult waited = wait_for(stream_of(entry, what), is_to_be_replaced);
  taken.wait_ns = ns_since(taken.begin_ns);
  if (waited != CUDA_SUCCESS || !is_to_be_replaced) return;
  const Replaced replaced = replace(entry, what);
  taken.done = replaced == Replaced::done;
  taken.replaced = replaced != Replaced::no;
}

/// Python's frames are read in a tenth of a microsecond. Hidden calls pay for their sites alone: other
/// calls, however many, leave them what names their lines.
u32 site_of(Thread& thread, const Taken& taken) {
  u64& debt_ns = thread.site_debts_ns[taken.hidden ? 1 : 0];
  debt_ns -= debt_ns < taken.ns ? debt_ns : taken.ns;
  if (settings.sites == 0) return 0;
  if (taken.ns < kLongCallNs && thread.short_calls++ % settings.sites != 0) return 0;
  if (const u32 site = python_site(thread)) return site;
  if (debt_ns > kNativeCreditNs) return 0;
  debt_ns += kNativeSiteNs;
  return native_site();
}

/// A wait that only the copy before it caused.
bool follows_copy(const Thread& thread, const Entry& entry, const What& what) {
  const LastCopy& last = thread.last_copy;
  if (entry.entry_class != kWait || !last.is_last) return false;
  const bool is_same = what.stream == last.stream || &entry == &entries[k_cuCtxSynchronize] ||
                       &entry == &entries[k_cuCtxSynchronize_v2];
  return is_same && thread.row->launches == last.launches;
}

bool is_hidden(const Thread& thread, const Entry& entry, const What& what, const Taken& taken) {
  if (entry.entry_class == kCopy)
    return entry.asynchronous && !taken.captured && waits(entry, what);
  return follows_copy(thread, entry, what);
}

}  // namespace

__thread bool is_inside_call __attribute__((tls_model("initial-exec"))) = false;

Taken begin_call(const Entry& entry, What& what) {
  Taken taken;
  if (this_thread() == nullptr) return taken;
  taken.begin_ns = now_ns();
  if (entry.entry_class == kCopy) begin_copy(entry, what, taken);
  if (entry.entry_class == kPin) taken.replaced = taken.done = pin(what);
  if (&entry == &entries[k_cuMemFreeHost]) taken.replaced = taken.done = unpin(what);
  return taken;
}

void end_call(const Entry& entry, const What& what, Taken taken, CUresult result) {
  if (what.after != nullptr) what.after(what, result);
  Thread* const thread = this_thread();
  // Counting may have begun meanwhile.
  if (thread == nullptr || taken.begin_ns == 0) return;
  taken.ns = ns_since(taken.begin_ns);
  taken.failed = result != CUDA_SUCCESS;
  taken.hidden = is_hidden(*thread, entry, what, taken);
  const bool is_copy = entry.entry_class == kCopy;
  if (is_copy || taken.hidden || entry.entry_class == kPin) taken.site = site_of(*thread, taken);
  count_call(*thread, entry, what, taken);
  if (is_copy && what.linear && what.target == kDevice && what.bytes >= kMinRepeated &&
      (what.source == kPageable || what.source == kPinned) && !taken.failed && !taken.captured)
    count_repeat(what, taken.ns - taken.wait_ns, taken.site);
  // A wait after a blocking copy waits for nothing.
  thread->last_copy = {is_copy && entry.asynchronous, what.stream, thread->row->launches};
}

}  // namespace isthmus::preload
