/* Isthmus for C: copies between host and device, and windows, CPU mappings of GPU memory. Link with
 * -listhmus.
 *
 * A window lets the CPU store to and load from device memory itself: 0.1 to 0.2 us to write a few
 * bytes, where a blocking copy of CUDA's costs 7 to 11.
 *
 *     isthmus_error error;
 *     isthmus_window* window;
 *     if (isthmus_window_open(device_pointer, size_bytes, NULL, &window, &error) != ISTHMUS_OK)
 *       return complain(error.message);
 *     isthmus_window_write(window, 0, &answer, sizeof answer, &error);
 *     isthmus_window_close(window);
 *
 * Errors. Functions that can fail return a status, and fill the error they are given unless that is
 * null; on success they leave it as it was. After a failure nothing has been changed or copied. No
 * function throws, ends the process, prints, or changes the current CUDA context.
 *
 * Driver. There is nothing to initialise: the first call that needs a driver connects to the one
 * that ISTHMUS_DRIVER names (libcuda.so.1 unless it is set), which then stays for the life of the
 * process. A failed attempt is made again by the next call.
 *
 * Threads. Every function may be called from any thread, and those on different windows at the same
 * time. What holds for two calls on one window stands at each function.
 *
 * fork(). Windows stay with the process that opened them. In a child, functions on a window of the
 * parent's fail with ISTHMUS_USAGE_ERROR (closing one is allowed), and so does opening one if the
 * parent had opened any: CUDA doesn't survive fork() either.
 *
 * Ordering: who sees written bytes when.
 *   A kernel or copy started by this thread after isthmus_window_write() has returned reads them.
 *   A kernel that is running sees them soon, if it loads with volatile or acquire of system scope.
 *   The bytes of one write may appear in any order; those of two writes of one thread in theirs: so
 *   write the data, then write a flag, and the kernel that sees the flag and then passes
 *   __threadfence_system() sees the data.
 *   isthmus_window_read() sees what finished work wrote that the CPU has waited for (an event, a
 *   stream, a context), and what a running kernel wrote before a flag (with __threadfence_system()
 *   between) if an earlier read saw that flag. */
#ifndef ISTHMUS_ISTHMUS_H
#define ISTHMUS_ISTHMUS_H

#include <isthmus/export.h>
#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): C's own spelling of types. */

#ifdef __cplusplus
extern "C" {
#endif

/* What came of a call. */
typedef enum isthmus_status {
  ISTHMUS_OK = 0,
  /* The caller's: a range outside the window, a null, host or managed pointer, a freed buffer, a
   * window of the parent process, an option that can't be. */
  ISTHMUS_USAGE_ERROR = 1,
  /* Absent here: no driver, no way to map device memory, no BAR1 left. The message says why, and
   * what would bring it. */
  ISTHMUS_UNAVAILABLE = 2,
  /* The CUDA driver returned an error: see driver_code. */
  ISTHMUS_DRIVER_ERROR = 3,
  ISTHMUS_OUT_OF_DEVICE_MEMORY = 4,
  ISTHMUS_OUT_OF_HOST_MEMORY = 5,
  /* A fault of Isthmus's own. */
  ISTHMUS_INTERNAL_ERROR = 6
} isthmus_status;

/* Why a call failed. The caller's own memory: on the stack, if it likes. */
typedef struct isthmus_error {
  isthmus_status status;
  int driver_code;    /* the CUresult, if status is a driver's or out of device memory; else 0 */
  char message[1016]; /* one line, null-terminated, cut at a whole character if it is too long */
} isthmus_error;

/* The library's version: "1.2.3". Never null. */
ISTHMUS_API const char* isthmus_version(void);

/* A status's name: "usage_error". Never null. */
ISTHMUS_API const char* isthmus_status_name(isthmus_status status);

/* A CPU mapping of a range of device memory. */
typedef struct isthmus_window isthmus_window;

/* When a window makes sure that its buffer has not been freed. */
typedef enum isthmus_buffer_check {
  /* Each call, if the memory may become another buffer's (small buffers, pools, cuMemCreate); else
   * only on opening. */
  ISTHMUS_CHECK_SHARED_PAGES = 0,
  /* Each call: about 0.1 us more. */
  ISTHMUS_CHECK_EACH_CALL = 1,
  /* Never again: the caller closes the window before freeing the buffer. */
  ISTHMUS_CHECK_ON_OPENING = 2
} isthmus_buffer_check;

/* How to open a window. Zeroes mean the defaults: begin with ISTHMUS_WINDOW_OPTIONS_INIT. */
typedef struct isthmus_window_options {
  size_t struct_size; /* sizeof(isthmus_window_options): later versions may have more members */
  int num_threads;    /* most threads of one write or read, the caller's included; default 1 */
  isthmus_buffer_check check;
  size_t page_bytes; /* mapped are whole multiples of this; a power of two; default 4096 */
} isthmus_window_options;

#define ISTHMUS_WINDOW_OPTIONS_INIT \
  {sizeof(isthmus_window_options), 0, ISTHMUS_CHECK_SHARED_PAGES, 0}

/* Maps device memory. Complete when it returns; waits for no stream but its own, so it may be
 * called while kernels run and while streams are captured.
 *
 * device_pointer  from cudaMalloc, PyTorch, CuPy, RMM or (exportable) cuMemCreate; any offset
 * size_bytes      > 0, inside one allocation
 * options         null for the defaults
 * window          where the new window goes; untouched on failure
 *
 * A window keeps the memory, not the pointer: what CUDA frees while the window is open stays
 * allocated on the device until the window is closed. (Backend "gdrdrv" unmaps it instead: touching
 * it is a bus error.) */
ISTHMUS_API isthmus_status isthmus_window_open(uint64_t device_pointer, size_t size_bytes,
                                               const isthmus_window_options* options,
                                               isthmus_window** window, isthmus_error* error);

/* Unmaps and frees. Null is allowed. No other call on this window may be under way. */
ISTHMUS_API void isthmus_window_close(isthmus_window* window);

/* Copies host bytes to the device, and fences: see "Ordering". The source may be reused when this
 * returns. Calls on one window may run at once; what two write to the same bytes is undefined.
 *
 * source      readable, [size_bytes], any alignment
 * size_bytes  0 is allowed, and copies nothing */
ISTHMUS_API isthmus_status isthmus_window_write(isthmus_window* window, size_t offset_bytes,
                                                const void* source, size_t size_bytes,
                                                isthmus_error* error);

/* Copies like isthmus_window_write, by the calling thread alone and without the fence: nothing is
 * promised about when the bytes arrive until this thread calls isthmus_fence() or writes. The
 * source may be reused when this returns. Calls on one window may run at once. */
ISTHMUS_API isthmus_status isthmus_window_post(isthmus_window* window, size_t offset_bytes,
                                               const void* source, size_t size_bytes,
                                               isthmus_error* error);

/* Orders this thread's posts, on all windows, and its own stores through their data before what it
 * does next. */
ISTHMUS_API void isthmus_fence(void);

/* Copies device bytes to the host. Complete when it returns; outside the order of streams: see
 * "Ordering". Calls on one window may run at once, beside writes too.
 *
 * target      writable, [size_bytes], any alignment
 * size_bytes  0 is allowed, and copies nothing */
ISTHMUS_API isthmus_status isthmus_window_read(const isthmus_window* window, void* target,
                                               size_t offset_bytes, size_t size_bytes,
                                               isthmus_error* error);

/* Says whether the buffer has not been freed (nor its address given to another). May run beside
 * copies on the window.
 *
 * alive  where 1 or 0 goes */
ISTHMUS_API isthmus_status isthmus_window_is_alive(const isthmus_window* window, int* alive,
                                                   isthmus_error* error);

/* The questions below are answered at once and can't fail. Given null they answer 0 or null. */

/* The first byte of the mapping, for own stores and for flags; valid until the window is closed, in
 * this process only. Write-combined: stores are cheap and wait for isthmus_fence(), each load costs
 * a round trip of the link. */
ISTHMUS_API void* isthmus_window_data(const isthmus_window* window);
ISTHMUS_API size_t isthmus_window_size(const isthmus_window* window);
ISTHMUS_API uint64_t isthmus_window_device_pointer(const isthmus_window* window);

/* All that is mapped: whole pages around the window. Touch only what is yours. */
ISTHMUS_API void* isthmus_window_mapped_data(const isthmus_window* window);
ISTHMUS_API size_t isthmus_window_mapped_size(const isthmus_window* window);
ISTHMUS_API uint64_t isthmus_window_mapped_device_pointer(const isthmus_window* window);

/* How the mapping was made: "dmabuf", "gdrdrv" or "rm". */
ISTHMUS_API const char* isthmus_window_backend(const isthmus_window* window);
/* The instructions it copies with: "avx512". */
ISTHMUS_API const char* isthmus_window_instructions(const isthmus_window* window);

/* Bytes of a GPU's BAR1 that this library's windows map, and the most they may. Either may be null.
 *
 * device  the GPU's ordinal, as CUDA counts */
ISTHMUS_API isthmus_status isthmus_bar1_usage(int device, uint64_t* mapped_bytes,
                                              uint64_t* limit_bytes, isthmus_error* error);

/* The next thing that a user should be told once, such as an untested driver version. Returns 1 and
 * one line, cut to fit, or 0 if there is nothing (more) to tell.
 *
 * text           writable, [capacity_bytes]
 * capacity_bytes > 0 */
ISTHMUS_API int isthmus_take_notice(char* text, size_t capacity_bytes);

/* ---- Copies: between host and device, by whichever way is cheapest on this machine. -------------
 *
 * The ways: CPU stores and loads through a window (small copies), the driver's own copy (pinned
 * memory), pinned staging buffers that several threads fill (pageable memory), pinning in place.
 *
 *     if (isthmus_copy(device_pointer, host_pointer, size_bytes, NULL, &error) != ISTHMUS_OK)
 *       return complain(error.message);
 *
 * The default stream of CUDA is ordered before a copy unless options say another: what is enqueued
 * there before the call is done when the copy begins, as with cudaMemcpy. A failed copy leaves the
 * library usable; which bytes of the target are undefined is in the message. */

/* What the caller knows of an end of a copy, which saves asking the driver, and the kernel whether
 * the memory can be touched: 0.5 to 1.5 us for what is neither in the stack nor in the heap, nor
 * was asked about some milliseconds ago. Wrong answers are undefined behaviour, but DEVICE is
 * checked: memory that was freed is refused then, whatever lies there by now. */
typedef enum isthmus_memory_kind {
  ISTHMUS_MEMORY_UNKNOWN = 0, /* ask */
  ISTHMUS_MEMORY_PAGEABLE = 1,
  ISTHMUS_MEMORY_PINNED = 2,
  ISTHMUS_MEMORY_DEVICE = 3,
  ISTHMUS_MEMORY_MANAGED = 4,
  ISTHMUS_MEMORY_HOST = 5 /* the host's, and it may be touched; the driver says if it is pinned */
} isthmus_memory_kind;

/* When the source of an asynchronous copy may be changed. */
typedef enum isthmus_source_order {
  ISTHMUS_SOURCE_ORDER_CALL = 0,  /* as soon as the call has returned */
  ISTHMUS_SOURCE_ORDER_STREAM = 1 /* once the copy is complete */
} isthmus_source_order;

/* How to copy. Zeroes mean the defaults: begin with ISTHMUS_COPY_OPTIONS_INIT. */
typedef struct isthmus_copy_options {
  size_t struct_size; /* sizeof(isthmus_copy_options) */
  void* stream;       /* a CUstream or cudaStream_t; null: the legacy default stream */
  isthmus_memory_kind source_kind;
  isthmus_memory_kind target_kind;
  int unordered;    /* 1: nothing pending in any stream touches the bytes; no stream is asked */
  const char* path; /* null: choose; else "window", "window_threads", "driver", "staged" or
                       "registered", or ISTHMUS_UNAVAILABLE if that one can't */
  isthmus_source_order source_order; /* of isthmus_copy_async() */
} isthmus_copy_options;

#define ISTHMUS_COPY_OPTIONS_INIT                                                               \
  {sizeof(isthmus_copy_options), NULL, ISTHMUS_MEMORY_UNKNOWN, ISTHMUS_MEMORY_UNKNOWN, 0, NULL, \
   ISTHMUS_SOURCE_ORDER_CALL}

/* Copies bytes. Complete when it returns: the bytes are in the target, whoever looks. While the
 * stream is captured the driver records the copy instead.
 *
 * target, source  of any kind, each inside one allocation; must not overlap
 * size_bytes      0 is allowed, and copies nothing
 * options         null for the defaults */
ISTHMUS_API isthmus_status isthmus_copy(void* target, const void* source, size_t size_bytes,
                                        const isthmus_copy_options* options, isthmus_error* error);

/* A copy under way. */
typedef struct isthmus_future isthmus_future;

/* Begins a copy. Between pinned memory and a device the stream orders it both ways. From pageable
 * memory with ISTHMUS_SOURCE_ORDER_CALL it returns when the bytes are staged, and the stream orders
 * it both ways; with ISTHMUS_SOURCE_ORDER_STREAM, and always to pageable memory, later work in the
 * stream does not wait: isthmus_future_wait() does. A path that is named is taken; one that can't
 * return early is complete when the call returns.
 *
 * future  where it goes, to be freed; untouched on failure */
ISTHMUS_API isthmus_status isthmus_copy_async(void* target, const void* source, size_t size_bytes,
                                              const isthmus_copy_options* options,
                                              isthmus_future** future, isthmus_error* error);
/* Waits until the copy is complete, and says what it failed with. */
ISTHMUS_API isthmus_status isthmus_future_wait(isthmus_future* future, isthmus_error* error);
/* Says whether isthmus_future_wait() would return at once.
 *
 * ready  where 1 or 0 goes */
ISTHMUS_API isthmus_status isthmus_future_ready(const isthmus_future* future, int* ready,
                                                isthmus_error* error);
/* Forgets the copy, which goes on. Null is allowed. */
ISTHMUS_API void isthmus_future_free(isthmus_future* future);

/* How a copy would be made. */
typedef struct isthmus_copy_plan {
  size_t struct_size; /* set it to sizeof(isthmus_copy_plan) */
  const char* path;   /* "staged"; never freed */
  double seconds;     /* predicted; 0: not known */
  const char* source; /* kinds of memory: "pageable", "pinned", "device", "managed" */
  const char* target;
  int measured; /* 0: conservative defaults, no profile of this machine */
} isthmus_copy_plan;

/* Says how isthmus_copy() would do it. Copies nothing. */
ISTHMUS_API isthmus_status isthmus_explain_copy(const void* target, const void* source,
                                                size_t size_bytes,
                                                const isthmus_copy_options* options,
                                                isthmus_copy_plan* plan, isthmus_error* error);

/* Closes the windows that copies have opened, and unpins staging buffers that none uses. */
ISTHMUS_API isthmus_status isthmus_trim(isthmus_error* error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
