#include "preload/replacing.hpp"

#include <string.h>

#include "preload/binding.hpp"
#include "preload/engine.hpp"
#include "preload/settings.hpp"
#include "preload/sites.hpp"

namespace isthmus::preload {
namespace {

/// Streams that are being captured. One that finds no place is never forgotten: nothing more is
/// replaced.
constexpr int kMostCaptures = 64;
CUstream capturing[kMostCaptures];
int captures = 0;

/// The legacy default stream can't be captured: without a handle it is the thread's own.
CUstream captured_stream(const What& what) {
  return what.stream != nullptr ? what.stream : CU_STREAM_PER_THREAD;
}

bool exchange(CUstream& place, CUstream expected, CUstream next) {
  return __atomic_compare_exchange_n(&place, &expected, next, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

/// An old driver lacks functions.
bool knows_all() {
#define ISTHMUS_FUNCTION(type, symbol, member) driver.member != nullptr&&
  return ISTHMUS_DRIVER_FUNCTIONS(ISTHMUS_FUNCTION) true;
#undef ISTHMUS_FUNCTION
}

/// Asks of the current context, which is no primary one if there is a doubt.
KnownContext compared(u64 id) {
  KnownContext found{true, id, false, -1};
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

/// Whose primary context is current; -1 in another one, in which the engine's work isn't ordered.
CUdevice primary_device() {
  unsigned long long id = 0;
  Thread* const thread = this_thread();
  if (thread == nullptr || driver.context_id(nullptr, &id) != CUDA_SUCCESS) return -1;
  KnownContext known = thread->is_own ? thread->context : KnownContext{};
  if (!known.is_known || known.id != id) known = compared(id);
  if (thread->is_own) thread->context = known;
  return known.is_primary ? known.device : -1;
}

/// What an entry point's name calls device memory may be managed, or another device's.
bool is_on_device(const What& what, CUdevice device) {
  const void* const pointer = what.source == kDevice ? what.from : what.to;
  CUdevice found = -1;
  return kind_now(pointer) == kDevice &&
         driver.pointer_attribute(&found, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  reinterpret_cast<CUdeviceptr>(pointer)) == CUDA_SUCCESS &&
         found == device;
}

bool is_wanted(const Entry& entry) {
  if (settings.only[0] == '\0' || strcmp(settings.only, entry.name) == 0) return true;
  Thread* const thread = this_thread();
  if (thread == nullptr) return false;
  const u32 python = python_site(*thread);
  const u32 site = python != 0 ? python : native_site();
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
  const Engine* const engine = opened_engine();
  if (engine == nullptr) return false;
  if (engine->copy(what.to, what.from, what.bytes, to_device, device, &error) == ISTHMUS_OK)
    return true;
  note_engine(error.message, true);
  return false;
}

}  // namespace

bool is_replaceable(const What& what) {
  const u64 least = what.source == kPageable ? settings.min_up : settings.min_down;
  return settings.exec != Exec::off && what.bytes >= least && knows_all();
}

Replaced replace(const Entry& entry, const What& what) {
  const CUdevice device = primary_device();
  if (device < 0 || !is_on_device(what, device) || !ends_pageable(what) || !is_wanted(entry))
    return Replaced::no;
  if (settings.exec == Exec::audit) return Replaced::would_be;
  return copy_with_engine(what, device) ? Replaced::done : Replaced::no;
}

bool pin(const What& what) {
  if (!settings.pins || settings.exec != Exec::on || what.to == nullptr || what.bytes == 0 ||
      num_captures() > 0 || !knows_all())
    return false;
  const CUdevice device = primary_device();
  const Engine* const engine = device < 0 ? nullptr : opened_engine();
  if (engine == nullptr) return false;
  isthmus_error error;
  void* const memory = engine->pin(what.bytes, device, &error);
  if (memory == nullptr) {
    note_engine(error.message, true);
    return false;
  }
  *static_cast<void**>(what.to) = memory;
  return true;
}

bool unpin(const What& what) {
  if (!settings.pins || what.to == nullptr) return false;
  const Engine* const engine = engine_if_open();
  return engine != nullptr && engine->unpin(what.to, num_captures() > 0 ? 1 : 0) != 0;
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
    if (exchange(place, nullptr, captured_stream(what))) return;
}
/// A capture that failed has ended, too.
void capture_ended(const What& what, CUresult result) {
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
      result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    stream_destroyed(what, CUDA_SUCCESS);
}
void stream_destroyed(const What& what, CUresult result) {
  if (result != CUDA_SUCCESS || num_captures() == 0) return;
  for (CUstream& place : capturing) {
    if (!exchange(place, captured_stream(what), nullptr)) continue;
    __atomic_fetch_sub(&captures, 1, __ATOMIC_ACQ_REL);
    return;
  }
}
void device_reset(const What& what, CUresult result) {
  forget_kinds(what, result);
  stop_replacing("the program reset a device: later copies are the driver's");
}

}  // namespace isthmus::preload
