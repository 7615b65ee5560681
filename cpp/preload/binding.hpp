// How the library gets between a program and its driver, and to the driver itself.
#pragma once

#include "preload/entries.hpp"

namespace isthmus::preload {

/// Functions of the driver that are used, not watched. Null until the driver is bound.
struct DriverFunctions {
  PFN_cuPointerGetAttributes_v7000 pointer_attributes;
  PFN_cuPointerGetAttribute_v4000 pointer_attribute;
  PFN_cuStreamIsCapturing_v10000 is_capturing;
  PFN_cuStreamGetFlags_v5050 stream_flags;
  PFN_cuStreamSynchronize_v2000 synchronize;
  PFN_cuThreadExchangeStreamCaptureMode_v10010 exchange_mode;
  PFN_cuEventCreate_v2000 create_event;
  PFN_cuEventRecord_v2000 record;
  PFN_cuEventSynchronize_v2000 wait_for_event;
  PFN_cuEventDestroy_v4000 destroy_event;
  PFN_cuCtxGetCurrent_v4000 current_context;
  PFN_cuCtxGetId_v12000 context_id;
  PFN_cuCtxGetDevice_v2000 current_device;
  PFN_cuDevicePrimaryCtxGetState_v7000 primary_state;
  PFN_cuDevicePrimaryCtxRetain_v7000 retain_primary;
  PFN_cuDevicePrimaryCtxRelease_v11000 release_primary;
};
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
