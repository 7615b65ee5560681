// How the library gets between a program and its driver, and to the driver itself.
#pragma once

#include "preload/entries.hpp"

namespace isthmus::preload {

/// Functions of the driver that are used, not watched: type in cudaTypedefs.h, name, and member.
#define ISTHMUS_DRIVER_FUNCTIONS(FUNCTION)                                              \
  FUNCTION(cuPointerGetAttributes_v7000, cuPointerGetAttributes, pointer_attributes)    \
  FUNCTION(cuPointerGetAttribute_v4000, cuPointerGetAttribute, pointer_attribute)       \
  FUNCTION(cuStreamIsCapturing_v10000, cuStreamIsCapturing, is_capturing)               \
  FUNCTION(cuStreamGetFlags_v5050, cuStreamGetFlags, stream_flags)                      \
  FUNCTION(cuStreamSynchronize_v2000, cuStreamSynchronize, synchronize)                 \
  FUNCTION(cuThreadExchangeStreamCaptureMode_v10010, cuThreadExchangeStreamCaptureMode, \
           exchange_mode)                                                               \
  FUNCTION(cuEventCreate_v2000, cuEventCreate, create_event)                            \
  FUNCTION(cuEventRecord_v2000, cuEventRecord, record)                                  \
  FUNCTION(cuEventSynchronize_v2000, cuEventSynchronize, wait_for_event)                \
  FUNCTION(cuEventDestroy_v4000, cuEventDestroy_v2, destroy_event)                      \
  FUNCTION(cuCtxGetCurrent_v4000, cuCtxGetCurrent, current_context)                     \
  FUNCTION(cuCtxGetId_v12000, cuCtxGetId, context_id)                                   \
  FUNCTION(cuCtxGetDevice_v2000, cuCtxGetDevice, current_device)                        \
  FUNCTION(cuDevicePrimaryCtxGetState_v7000, cuDevicePrimaryCtxGetState, primary_state) \
  FUNCTION(cuDevicePrimaryCtxRetain_v7000, cuDevicePrimaryCtxRetain, retain_primary)    \
  FUNCTION(cuDevicePrimaryCtxRelease_v11000, cuDevicePrimaryCtxRelease_v2, release_primary)
#define ISTHMUS_FUNCTION(type, symbol, member) PFN_##type member;
/// Null until the driver is bound, and where it is too old.
struct DriverFunctions {
  ISTHMUS_DRIVER_FUNCTIONS(ISTHMUS_FUNCTION)
};
#undef ISTHMUS_FUNCTION
extern DriverFunctions driver;

using Dlsym = void* (*)(void*, const char*);
/// libc's dlsym, or that of another interposer, which sees what it would see without us.
Dlsym real_dlsym();

/// Finds the driver if the process has loaded one; never loads it. False: there is none yet. What
/// asks the dynamic linker comes before any lock: another thread may hold the linker's own.
bool bind_driver();

/// In a forked child that has counted nothing yet: begins.
void begin_counting_late();

/// The wrapper in the place of an address that the driver gave out; any other address unchanged.
void* substitute(void* address);

/// The real function, also for a program that was linked with the driver under another name.
void* bind_late(Entry& entry);

/// Names an entry point that copies and isn't watched, in the report. Its version: 0 if unknown.
void note_unwatched(const char* name, int version);

/// Calls that come from this library's code are not seen: the engine's own copies.
void ignore_calls_from(const void* function);

}  // namespace isthmus::preload
