/* What `isthmus exec` opens: libisthmus_exec.so, which copies instead of the driver. C, because the
 * library that opens it knows no C++ runtime. No function throws or changes the current context. */
#ifndef ISTHMUS_EXEC_ENGINE_H
#define ISTHMUS_EXEC_ENGINE_H

#include <isthmus/isthmus.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the driver and makes the engine; before any other function, by one thread. It asks the dynamic
 * linker, whose lock another thread may hold that waits for a copy: so nobody may wait for this.
 *
 * Returns         anything but ISTHMUS_OK: the engine can't be used */
ISTHMUS_API isthmus_status isthmus_exec_open(isthmus_error* error);

/* Copies between pageable host memory and a device through the staging ring, in a stream of its own;
 * complete on return.
 *
 * target, source  one is the GPU's own memory, in its device's primary context
 * to_device       1 or 0
 * device          ordinal of that GPU
 * The caller has waited for all work that this copy comes after, and begins nothing that touches
 * the bytes meanwhile.
 * Returns         anything but ISTHMUS_OK: the target's bytes are undefined, and a copy by the
 *                 driver may follow */
ISTHMUS_API isthmus_status isthmus_exec_copy(void* target, const void* source, size_t size_bytes,
                                             int to_device, int device, isthmus_error* error);

/* Pinned memory from a pool, mapped on all devices.
 *
 * device          whose NUMA node it is on
 * Returns         null: there is none, and the error says why */
ISTHMUS_API void* isthmus_exec_pin(size_t size_bytes, int device, isthmus_error* error);
/* Gives it back once all work of the current context is complete, as cuMemFreeHost does.
 *
 * keep            1: nobody is to have it any more, since a graph that is being captured may use it
 * Returns         0 if it isn't a block of the pool */
ISTHMUS_API int isthmus_exec_unpin(void* memory, int keep);

#ifdef __cplusplus
}
#endif

#endif
