#include "preload/replacing.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capi/exec_engine.h"
#include "preload/binding.hpp"
#include "preload/settings.hpp"
#include "preload/sites.hpp"

namespace isthmus::preload {
namespace {

using Copy = decltype(&isthmus_exec_copy);

enum Engine : u32 { kUnopened, kOpening, kOpen, kAbsent };
u32 engine = kUnopened;
Copy engine_copy = nullptr;

/// Streams that are being captured. One that finds no place is never forgotten: nothing more is
/// replaced.
constexpr int kMostCaptures = 64;
CUstream capturing[kMostCaptures];
int captures = 0;

bool exchange(CUstream& place, CUstream expected, CUstream next) {
  return __atomic_compare_exchange_n(&place, &expected, next, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

/// An old driver lacks functions.
static_assert(sizeof driver % sizeof(void*) == 0 && alignof(DriverFunctions) == alignof(void*));
bool knows_all() {
  const auto& all = reinterpret_cast<void* const(&)[sizeof driver / sizeof(void*)]>(driver);
  for (void* const one : all)
    if (one == nullptr) return false;
  return true;
}

/// MPS shares a GPU between processes: its server, not this process, owns the context.
bool is_below_mps() {
  const char* const pipe = getenv("CUDA_MPS_PIPE_DIRECTORY");
  return access(pipe != nullptr ? pipe : "/tmp/nvidia-mps", F_OK) == 0;
}

/// Null, and a note of the reason, if it can't be used.
Copy open_engine() {
  if (is_below_mps()) {
    note_engine("the GPU is shared through MPS: all copies are the driver's", false);
    return nullptr;
  }
  void* const library = dlopen(settings.engine, RTLD_NOW | RTLD_LOCAL);
  void* const copy = library == nullptr ? nullptr : real_dlsym()(library, "isthmus_exec_copy");
  if (copy != nullptr) return reinterpret_cast<Copy>(copy);
  const char* const why = dlerror();
  note_engine(why == nullptr ? "the engine has no isthmus_exec_copy" : why, true);
  return nullptr;
}

/// Opened at the first copy. Other threads' copies are the driver's until then: nobody waits for
/// the linker.
bool has_engine() {
  u32 state = __atomic_load_n(&engine, __ATOMIC_ACQUIRE);
  if (state == kOpen) return true;
  if (state != kUnopened || !__atomic_compare_exchange_n(&engine, &state, kOpening, false,
                                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return false;
  const Copy copy = open_engine();
  if (copy == nullptr) {
    __atomic_store_n(&engine, kAbsent, __ATOMIC_RELEASE);
    return false;
  }
  ignore_calls_from(reinterpret_cast<void*>(copy));
  engine_copy = copy;
  __atomic_store_n(&engine, kOpen, __ATOMIC_RELEASE);
  return true;
}

/// Asks of the current context, which is no primary one if there is a doubt.
KnownContext compared(u64 id) {
  KnownContext found{id, false, -1};
  unsigned flags = 0;
  int is_active = 0;
  CUcontext current = nullptr;
  CUcontext primary = nullptr;
  // Retaining one that isn't active would make it.
  if (driver.current_context(&current) != CUDA_SUCCESS ||
      driver.current_device(&found.device) != CUDA_SUCCESS ||
      driver.primary_state(found.device, &flags, &is_active) != CUDA_SUCCESS || is_active == 0 ||
      driver.retain_primary(&primary, found.device) != CUDA_SUCCESS)
    return found;
  driver.release_primary(found.device);
  found.is_primary = primary == current;
  return found;
}

/// A copy in another context would use the engine's, in which its work isn't ordered.
bool is_in_primary_context(const What& what, CUdevice& device) {
  u64 id = 0;
  unsigned long long asked = 0;
  if (driver.context_id(nullptr, &asked) != CUDA_SUCCESS) return false;
  id = asked;
  Thread* const thread = this_thread();
  if (thread == nullptr) return false;
  KnownContext known = thread->is_own ? thread->context : KnownContext{};
  if (known.id != id) known = compared(id);
  if (thread->is_own) thread->context = known;
  const void* const pointer = what.source == kDevice ? what.from : what.to;
  device = -1;
  return known.is_primary &&
         driver.pointer_attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  reinterpret_cast<CUdeviceptr>(pointer)) == CUDA_SUCCESS &&
         device == known.device;
}

bool is_wanted(const Entry& entry) {
  if (settings.only[0] == '\0' || strcmp(settings.only, entry.name) == 0) return true;
  Thread* const thread = this_thread();
  const u32 site = thread == nullptr ? 0 : site_here(*thread);
  return site != 0 && strstr(tables.sites[site - 1].place, settings.only) != nullptr;
}

/// The engine can't know of memory that is pinned from somewhere inside it on. The driver refuses it.
bool ends_pageable(const What& what) {
  const void* const host = what.source == kPageable ? what.from : what.to;
  return kind_now(static_cast<const char*>(host) + what.bytes - 1) == kPageable;
}

bool copy_with_engine(const What& what, CUdevice device) {
  isthmus_error error;
  const int to_device = what.target == kDevice ? 1 : 0;
  if (engine_copy(what.to, what.from, what.bytes, to_device, device, &error) == ISTHMUS_OK)
    return true;
  note_engine(error.message, true);
  return false;
}

}  // namespace

bool is_replaceable(const Entry& entry, const What& what) {
  if (settings.exec == Exec::off || entry.entry_class != kCopy || !what.linear || !knows_all())
    return false;
  if (what.source == kPageable && what.target == kDevice) return what.bytes >= settings.min_up;
  return what.source == kDevice && what.target == kPageable && what.bytes >= settings.min_down;
}

Replaced replace(const Entry& entry, const What& what) {
  CUdevice device = -1;
  if (!is_in_primary_context(what, device) || !ends_pageable(what) || !is_wanted(entry))
    return Replaced::no;
  if (settings.exec == Exec::audit) return Replaced::would_be;
  return has_engine() && copy_with_engine(what, device) ? Replaced::done : Replaced::no;
}

int num_captures() { return __atomic_load_n(&captures, __ATOMIC_ACQUIRE); }

void stop_replacing(const char* why) {
  if (settings.exec == Exec::off) return;
  settings.exec = Exec::off;
  note_engine(why, false);
}

void capture_begun(const What& what, CUresult result) {
  if (result != CUDA_SUCCESS) return;
  __atomic_fetch_add(&captures, 1, __ATOMIC_ACQ_REL);
  for (CUstream& place : capturing)
    if (exchange(place, nullptr, what.stream)) return;
}
/// A capture that failed has ended, too.
void capture_ended(const What& what, CUresult result) {
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
      result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    stream_destroyed(what, CUDA_SUCCESS);
}
void stream_destroyed(const What& what, CUresult result) {
  if (result != CUDA_SUCCESS || what.stream == nullptr || num_captures() == 0) return;
  for (CUstream& place : capturing) {
    if (!exchange(place, what.stream, nullptr)) continue;
    __atomic_fetch_sub(&captures, 1, __ATOMIC_ACQ_REL);
    return;
  }
}
void device_reset(const What& what, CUresult result) {
  forget_kinds(what, result);
  stop_replacing("the program reset a device: later copies are the driver's");
}

}  // namespace isthmus::preload
