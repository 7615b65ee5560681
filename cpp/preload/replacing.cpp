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

enum class Engine : u32 { unopened, opening, open, absent };
Engine engine = Engine::unopened;
Copy engine_copy = nullptr;
int captures = 0;

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
  Engine state = __atomic_load_n(&engine, __ATOMIC_ACQUIRE);
  if (state == Engine::open) return true;
  if (state != Engine::unopened ||
      !__atomic_compare_exchange_n(&engine, &state, Engine::opening, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return false;
  const Copy copy = open_engine();
  if (copy == nullptr) {
    __atomic_store_n(&engine, Engine::absent, __ATOMIC_RELEASE);
    return false;
  }
  ignore_calls_from(reinterpret_cast<void*>(copy));
  engine_copy = copy;
  __atomic_store_n(&engine, Engine::open, __ATOMIC_RELEASE);
  return true;
}

/// Contexts that were compared with their device's primary one, until one is destroyed.
struct KnownContext {
  CUcontext context;
  int device;  ///< -1: it isn't the primary one
};
constexpr size_t kNumContexts = 16;
KnownContext known_contexts[kNumContexts];

/// The device of a primary context, which must be current; -1 for another context.
int primary_device(CUcontext context) {
  KnownContext& known = known_contexts[(reinterpret_cast<uintptr_t>(context) >> 8) % kNumContexts];
  if (__atomic_load_n(&known.context, __ATOMIC_ACQUIRE) == context) return known.device;
  CUdevice device = -1;
  CUcontext primary = nullptr;
  if (driver.current_device(&device) != CUDA_SUCCESS ||
      driver.retain_primary(&primary, device) != CUDA_SUCCESS)
    return -1;
  driver.release_primary(device);
  known.device = primary == context ? device : -1;
  __atomic_store_n(&known.context, context, __ATOMIC_RELEASE);
  return known.device;
}

bool is_in_primary_context(const What& what) {
  if (driver.current_context == nullptr || driver.current_device == nullptr ||
      driver.retain_primary == nullptr || driver.release_primary == nullptr ||
      driver.pointer_attribute == nullptr)
    return false;
  CUcontext context = nullptr;
  if (driver.current_context(&context) != CUDA_SUCCESS || context == nullptr) return false;
  const void* const pointer = what.source == kDevice ? what.from : what.to;
  int device = -1;
  return driver.pointer_attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  reinterpret_cast<CUdeviceptr>(pointer)) == CUDA_SUCCESS &&
         device == primary_device(context);
}

bool is_wanted(const Entry& entry, u32 site) {
  if (settings.only[0] == '\0' || strcmp(settings.only, entry.name) == 0) return true;
  if (Thread* const thread = this_thread(); site == 0 && thread != nullptr)
    site = site_here(*thread);
  return site != 0 && strstr(tables.sites[site - 1].place, settings.only) != nullptr;
}

bool copy_with_engine(const What& what) {
  isthmus_error error;
  const int to_device = what.target == kDevice ? 1 : 0;
  if (engine_copy(what.to, what.from, what.bytes, to_device, &error) == ISTHMUS_OK) return true;
  note_engine(error.message, true);
  return false;
}

}  // namespace

bool is_replaceable(const Entry& entry, const What& what) {
  if (settings.exec == Exec::off || entry.entry_class != kCopy || !what.linear) return false;
  if (what.source == kPageable && what.target == kDevice) return what.bytes >= settings.min_up;
  return what.source == kDevice && what.target == kPageable && what.bytes >= settings.min_down;
}

Replaced replace(const Entry& entry, const What& what, u32 site) {
  if (!is_wanted(entry, site) || !is_in_primary_context(what)) return Replaced::no;
  if (settings.exec == Exec::audit) return Replaced::would_be;
  return has_engine() && copy_with_engine(what) ? Replaced::done : Replaced::no;
}

int num_captures() { return __atomic_load_n(&captures, __ATOMIC_ACQUIRE); }

void stop_replacing(const char* why) {
  if (settings.exec == Exec::off) return;
  settings.exec = Exec::off;
  note_engine(why, false);
}

void capture_begun(CUresult result) {
  if (result == CUDA_SUCCESS) __atomic_fetch_add(&captures, 1, __ATOMIC_ACQ_REL);
}
/// A capture that failed has ended, too.
void capture_ended(CUresult result) {
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
      result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    __atomic_fetch_sub(&captures, 1, __ATOMIC_ACQ_REL);
}
void device_reset(CUresult result) {
  forget_kinds(result);
  stop_replacing("the program reset a device: later copies are the driver's");
}
void context_destroyed(CUresult result) {
  forget_kinds(result);
  for (KnownContext& known : known_contexts)
    __atomic_store_n(&known.context, nullptr, __ATOMIC_RELEASE);
}

}  // namespace isthmus::preload
