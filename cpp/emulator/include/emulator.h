/* Controls of the emulated driver, in addition to the CUDA driver API.
 *
 * Found with dlsym; nothing links against the emulator. Every function may be called from any
 * thread. */
#ifndef ISTHMUS_EMULATOR_H
#define ISTHMUS_EMULATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Chooses the profile: link speeds, device count, memory, driver version. Call before cuInit.
 * Returns null on success, or a message that names the profile and lists the known ones.
 * May be called again while no context is alive; otherwise only with the same profile. */
const char* isthmus_emulator_select_profile(const char* name);

/* The active profile's name; never null. */
const char* isthmus_emulator_profile(void);

/* All profiles, one name a line, each followed by a tab and one line about it. */
const char* isthmus_emulator_profiles(void);

/* Makes the nth next call (1 = the very next) of a driver function return `code`, once, without
 * effect. `symbol` is the public name ("cuMemAlloc"). Several may be pending. */
void isthmus_emulator_fail_call(const char* symbol, int nth, int code);

/* Makes every further call of a driver function succeed without effect, until the reset: for
 * example, a copy that silently never happens. */
void isthmus_emulator_swallow_calls(const char* symbol);

/* Calls `function` once, immediately before the nth next call (1 = the very next) of a driver
 * function does its work, in the calling thread: for tests of events at that moment. `function`
 * may itself call the driver. */
void isthmus_emulator_before_call(const char* symbol, int nth, void (*function)(void* argument),
                                  void* argument);

/* Makes cuGetProcAddress not find a symbol, like an older driver, until the reset. */
void isthmus_emulator_hide_symbol(const char* symbol);

/* Starts (1) or stops (0) writing the call log; starting clears it. Off at first. */
void isthmus_emulator_log_calls(int enabled);

/* The call log: one call a line, "cuMemcpyHtoDAsync bytes=4 source=pinned stream=2 -> 0".
 * Copies at most `capacity` bytes with a final null; returns the bytes the whole log needs. */
size_t isthmus_emulator_call_log(char* buffer, size_t capacity);

/* The memory of an object that a handle of cuIpcGetMemHandle names (its word 13), as a file
 * that can be mapped, in place of a kernel driver. The caller closes it. -1 for an object that
 * no longer exists. size_bytes: null, or receives its size. */
int isthmus_emulator_object_file(unsigned int object, size_t* size_bytes);

/* The modelled time of everything so far, in nanoseconds: copies, launches, what kernels and the
 * CPU access across the link, pinning, allocating. Each counts as long as it takes alone, also
 * those at the same time. How long this machine's CPU really takes isn't in it. */
unsigned long long isthmus_emulator_modelled_ns(void);

/* Functions that copy through a mapping of device memory. */
typedef struct IsthmusEmulatorCopies {
  void (*write)(void* target, const void* source, size_t size_bytes);
  void (*read)(void* target, const void* source, size_t size_bytes);
} IsthmusEmulatorCopies;

/* Functions that copy like `plain`, through mappings of that device's memory, and take the time of
 * its modelled link. The last `plain` counts, for all copies on that device. */
IsthmusEmulatorCopies isthmus_emulator_window_copies(int device, IsthmusEmulatorCopies plain);

/* For leak checks: what is alive (retained contexts, streams, events, modules, device bytes, pinned
 * bytes). Device bytes include managed memory, and memory of cuMemCreate while it has a handle or a
 * mapping. */
typedef struct IsthmusEmulatorLive {
  size_t contexts, streams, events, modules, device_bytes, pinned_bytes, registered_ranges;
  size_t graphs; /* including executable ones */
} IsthmusEmulatorLive;
IsthmusEmulatorLive isthmus_emulator_live(void);

/* Clears pending failures and functions, swallowed calls, hidden symbols and the log. Doesn't
 * change memory and streams. Returns how many of the failures no call has had. */
int isthmus_emulator_reset(void);

#ifdef __cplusplus
}
#endif
#endif
