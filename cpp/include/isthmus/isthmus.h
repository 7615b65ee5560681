/* Isthmus for C: copies between host and device, and windows, CPU mappings of GPU memory. Link with
 * -listhmus.
 *
 * A window lets the CPU store to and load from device memory directly: writing a few bytes takes
 * 0.1 to 0.2 us, and a blocking copy by CUDA takes 7 to 11.
 *
 *     isthmus_error error;
 *     isthmus_window* window;
 *     if (isthmus_window_open(device_pointer, size_bytes, NULL, &window, &error) != ISTHMUS_OK)
 *       return complain(error.message);
 *     isthmus_window_write(window, 0, &answer, sizeof answer, &error);
 *     isthmus_window_close(window);
 *
 * Errors. Functions that can fail return a status. They also fill in the error they are given,
 * unless it is null; on success they don't change it. After a failure nothing has been changed or
 * copied. No function throws, ends the process, prints, or changes the current CUDA context.
 *
 * Driver. No initialisation is needed: the first call that needs a driver connects to the one that
 * ISTHMUS_DRIVER names (libcuda.so.1 if it isn't set). This driver stays for the life of the
 * process. If the attempt fails, the next call tries again.
 *
 * Threads. Every function may be called from any thread. Calls on different windows may run at the
 * same time. Each function says what holds for two calls on one window.
 *
 * fork(). Windows belong to the process that opened them. In a child, functions on the parent's
 * windows fail with ISTHMUS_USAGE_ERROR (closing one is allowed). Opening a window in the child
 * fails, too, if the parent had opened any: CUDA doesn't survive fork() either.
 *
 * Ordering: who sees written bytes, and when.
 *   A kernel or copy that this thread starts after isthmus_window_write() has returned reads them.
 *   A kernel that is running sees them soon, if it uses volatile loads or acquire loads of system
 *   scope.
 *   The bytes of one write may appear in any order; two writes by one thread appear in the order of
 *   the writes. So write the data, then write a flag: a kernel that sees the flag and then executes
 *   __threadfence_system() sees the data.
 *   isthmus_window_read() sees what was written by finished work that the CPU has waited for (by an
 *   event, a stream or a context). It also sees what a running kernel wrote before a flag (with
 *   __threadfence_system() between), if an earlier read saw that flag. */
#ifndef ISTHMUS_ISTHMUS_H
#define ISTHMUS_ISTHMUS_H

#include <isthmus/export.h>
#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): the C style of type names. */

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call. */
typedef enum isthmus_status {
  ISTHMUS_OK = 0,
  /* The caller's mistake: a range outside the window; a null, host or managed pointer; a freed
   * buffer; a window of the parent process; an invalid option. */
  ISTHMUS_USAGE_ERROR = 1,
  /* Not possible on this machine: no driver, no way to map device memory, no BAR1 left. The message
   * says why, and what to do. */
  ISTHMUS_UNAVAILABLE = 2,
  /* The CUDA driver returned an error: see driver_code. */
  ISTHMUS_DRIVER_ERROR = 3,
  ISTHMUS_OUT_OF_DEVICE_MEMORY = 4,
  ISTHMUS_OUT_OF_HOST_MEMORY = 5,
  /* A defect in Isthmus itself. */
  ISTHMUS_INTERNAL_ERROR = 6
} isthmus_status;

/* Why a call failed. The memory belongs to the caller; it may be on the stack. */
typedef struct isthmus_error {
  isthmus_status status;
  int driver_code;    /* the CUresult of a driver error or of out of device memory; else 0 */
  char message[1016]; /* one line, null-terminated; cut between characters if it is too long */
} isthmus_error;

/* The library's version: "1.2.3". Never null. */
ISTHMUS_API const char* isthmus_version(void);

/* A status's name: "usage_error". Never null. */
ISTHMUS_API const char* isthmus_status_name(isthmus_status status);

/* A CPU mapping of a range of device memory. */
typedef struct isthmus_window isthmus_window;

/* When a window checks that its buffer has not been freed. */
typedef enum isthmus_buffer_check {
  /* At each call, if the memory may later belong to another buffer (small buffers, pools,
   * cuMemCreate); otherwise only on opening. */
  ISTHMUS_CHECK_SHARED_PAGES = 0,
  /* At each call: about 0.1 us more. */
  ISTHMUS_CHECK_EACH_CALL = 1,
  /* Only on opening: the caller closes the window before freeing the buffer. */
  ISTHMUS_CHECK_ON_OPENING = 2
} isthmus_buffer_check;

/* How to open a window. Zeroes mean the defaults: begin with ISTHMUS_WINDOW_OPTIONS_INIT. */
typedef struct isthmus_window_options {
  size_t struct_size; /* sizeof(isthmus_window_options): later versions may have more members */
  int num_threads;    /* most threads for one write or read, including the caller's; default 1 */
  isthmus_buffer_check check;
  size_t page_bytes; /* the mapping has whole pages of this size; a power of two; default 4096 */
} isthmus_window_options;

#define ISTHMUS_WINDOW_OPTIONS_INIT \
  {sizeof(isthmus_window_options), 0, ISTHMUS_CHECK_SHARED_PAGES, 0}

/* Maps device memory. Complete when it returns. It waits for no stream except its own, so it may be
 * called while kernels run and while streams are captured.
 *
 * device_pointer  from cudaMalloc, PyTorch, CuPy, RMM or cuMemCreate; any offset
 * size_bytes      > 0, inside one allocation
 * options         null for the defaults
 * window          receives the new window; unchanged on failure
 *
 * A window keeps the memory, not the pointer: memory that CUDA frees while the window is open stays
 * allocated on the device until the window is closed. (Backend "gdrdrv" unmaps it instead: touching
 * it is a bus error.) */
ISTHMUS_API isthmus_status isthmus_window_open(uint64_t device_pointer, size_t size_bytes,
                                               const isthmus_window_options* options,
                                               isthmus_window** window, isthmus_error* error);

/* Unmaps and frees the window. Null is allowed. No other call on this window may be running. */
ISTHMUS_API void isthmus_window_close(isthmus_window* window);

/* Copies host bytes to the device, and fences: see "Ordering". The source may be reused when this
 * returns. Calls on one window may run concurrently; if two write to the same bytes, the result is
 * undefined.
 *
 * source      readable, [size_bytes], any alignment
 * size_bytes  0 is allowed, and copies nothing */
ISTHMUS_API isthmus_status isthmus_window_write(isthmus_window* window, size_t offset_bytes,
                                                const void* source, size_t size_bytes,
                                                isthmus_error* error);

/* Copies like isthmus_window_write, but only in the calling thread and without the fence: the bytes
 * are not guaranteed to arrive until this thread calls isthmus_fence() or isthmus_window_write().
 * The source may be reused when this returns. Calls on one window may run concurrently. */
ISTHMUS_API isthmus_status isthmus_window_post(isthmus_window* window, size_t offset_bytes,
                                               const void* source, size_t size_bytes,
                                               isthmus_error* error);

/* Orders this thread's posts, on all windows, and its own stores through isthmus_window_data()
 * before what it does next. */
ISTHMUS_API void isthmus_fence(void);

/* Copies device bytes to the host. Complete when it returns; not ordered with streams: see
 * "Ordering". Calls on one window may run concurrently, also with writes.
 *
 * target      writable, [size_bytes], any alignment
 * size_bytes  0 is allowed, and copies nothing */
ISTHMUS_API isthmus_status isthmus_window_read(const isthmus_window* window, void* target,
                                               size_t offset_bytes, size_t size_bytes,
                                               isthmus_error* error);

/* Tests whether the buffer still exists: it has not been freed, and its address does not belong to
 * another buffer. May run beside copies on the window.
 *
 * alive  receives 1 or 0 */
ISTHMUS_API isthmus_status isthmus_window_is_alive(const isthmus_window* window, int* alive,
                                                   isthmus_error* error);

/* The following functions return at once and can't fail. For null they return 0 or null. */

/* The first byte of the mapping, for the caller's own stores and flags. Valid until the window is
 * closed, only in this process. Write-combined: stores are cheap and wait for isthmus_fence(); each
 * load costs a round trip of the link. */
ISTHMUS_API void* isthmus_window_data(const isthmus_window* window);
ISTHMUS_API size_t isthmus_window_size(const isthmus_window* window);
ISTHMUS_API uint64_t isthmus_window_device_pointer(const isthmus_window* window);

/* Everything that is mapped: whole pages around the window. Touch only your own bytes. */
ISTHMUS_API void* isthmus_window_mapped_data(const isthmus_window* window);
ISTHMUS_API size_t isthmus_window_mapped_size(const isthmus_window* window);
ISTHMUS_API uint64_t isthmus_window_mapped_device_pointer(const isthmus_window* window);

/* How the mapping was made: "dmabuf", "gdrdrv" or "rm". */
ISTHMUS_API const char* isthmus_window_backend(const isthmus_window* window);
/* The instructions that the window copies with: "avx512". */
ISTHMUS_API const char* isthmus_window_instructions(const isthmus_window* window);

/* Bytes of a GPU's BAR1 that this library's windows map, and the limit. Either pointer may be null.
 *
 * device  the GPU's ordinal, as CUDA counts */
ISTHMUS_API isthmus_status isthmus_bar1_usage(int device, uint64_t* mapped_bytes,
                                              uint64_t* limit_bytes, isthmus_error* error);

/* The next notice that the user should see once, such as an untested driver version. Returns 1 and
 * writes one line, cut to fit; returns 0 if there is no notice.
 *
 * text           writable, [capacity_bytes]
 * capacity_bytes > 0 */
ISTHMUS_API int isthmus_take_notice(char* text, size_t capacity_bytes);

/* ---- Copies between host and device, by the path that is cheapest on this machine. ----
 *
 * The paths: CPU stores and loads through a window (small copies), the driver's own copy (pinned
 * memory), pinned staging buffers that several threads fill (pageable memory), pinning in place.
 *
 *     if (isthmus_copy(device_pointer, host_pointer, size_bytes, NULL, &error) != ISTHMUS_OK)
 *       return complain(error.message);
 *
 * A copy is ordered after CUDA's default stream unless the options say otherwise: work that was
 * enqueued there before the call is done when the copy begins, as with cudaMemcpy. After a failed
 * copy the library stays usable; the message says which bytes of the target are undefined. */

/* What the caller knows about one end of a copy. This saves asking the driver what the memory is,
 * and asking the kernel whether it can be touched: 0.5 to 1.5 us for memory that is neither in the
 * stack nor in the heap and was not asked about in the last milliseconds. A wrong kind is undefined
 * behaviour, except that DEVICE is checked: freed memory is refused, whatever lies there now. */
typedef enum isthmus_memory_kind {
  ISTHMUS_MEMORY_UNKNOWN = 0, /* ask */
  ISTHMUS_MEMORY_PAGEABLE = 1,
  ISTHMUS_MEMORY_PINNED = 2,
  ISTHMUS_MEMORY_DEVICE = 3,
  ISTHMUS_MEMORY_MANAGED = 4,
  ISTHMUS_MEMORY_HOST = 5 /* host memory that may be touched; the driver says if it is pinned */
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
  int unordered;    /* 1: no pending work in any stream touches the bytes; no stream is asked */
  const char* path; /* null: choose; else "window", "window_threads", "driver", "staged" or
                       "registered": ISTHMUS_UNAVAILABLE if that path isn't possible */
  isthmus_source_order source_order; /* of isthmus_copy_async() */
} isthmus_copy_options;

#define ISTHMUS_COPY_OPTIONS_INIT                                                               \
  {sizeof(isthmus_copy_options), NULL, ISTHMUS_MEMORY_UNKNOWN, ISTHMUS_MEMORY_UNKNOWN, 0, NULL, \
   ISTHMUS_SOURCE_ORDER_CALL}

/* Copies bytes. Complete when it returns: every reader of the target sees them. While the stream is
 * captured, the driver records the copy instead.
 *
 * target, source  any kind of memory, each inside one allocation; must not overlap
 * size_bytes      0 is allowed, and copies nothing
 * options         null for the defaults */
ISTHMUS_API isthmus_status isthmus_copy(void* target, const void* source, size_t size_bytes,
                                        const isthmus_copy_options* options, isthmus_error* error);

/* A copy in progress. */
typedef struct isthmus_future isthmus_future;

/* Begins a copy. Between pinned memory and a device, the stream orders the copy before and after
 * other work. From pageable memory with ISTHMUS_SOURCE_ORDER_CALL the function returns when the
 * bytes are staged, and the stream orders the copy before and after other work. With
 * ISTHMUS_SOURCE_ORDER_STREAM, and always to pageable memory, later work in the stream does not
 * wait for the copy; isthmus_future_wait() does. A path named in the options is always used; if it
 * can't return early, the copy is complete when the call returns.
 *
 * future  receives the future, to be freed by the caller; unchanged on failure */
ISTHMUS_API isthmus_status isthmus_copy_async(void* target, const void* source, size_t size_bytes,
                                              const isthmus_copy_options* options,
                                              isthmus_future** future, isthmus_error* error);
/* Waits until the copy is complete; returns the copy's error, if it failed. */
ISTHMUS_API isthmus_status isthmus_future_wait(isthmus_future* future, isthmus_error* error);
/* Tests whether isthmus_future_wait() would return at once.
 *
 * ready  receives 1 or 0 */
ISTHMUS_API isthmus_status isthmus_future_ready(const isthmus_future* future, int* ready,
                                                isthmus_error* error);
/* Frees the future; the copy continues. Null is allowed. */
ISTHMUS_API void isthmus_future_free(isthmus_future* future);

/* How a copy would be made. */
typedef struct isthmus_copy_plan {
  size_t struct_size; /* set it to sizeof(isthmus_copy_plan) */
  const char* path;   /* "staged"; never freed */
  double seconds;     /* predicted; 0: unknown */
  const char* source; /* kinds of memory: "pageable", "pinned", "device", "managed" */
  const char* target;
  int measured; /* 0: conservative defaults, no profile of this machine */
} isthmus_copy_plan;

/* Says how isthmus_copy() would make the copy. Copies nothing. */
ISTHMUS_API isthmus_status isthmus_explain_copy(const void* target, const void* source,
                                                size_t size_bytes,
                                                const isthmus_copy_options* options,
                                                isthmus_copy_plan* plan, isthmus_error* error);

/* ---- Blocks: thousands of pieces by index. ----
 *
 * A pool has blocks of one size; a copy moves block source_index[i] of each source to block
 * target_index[i] of the target of the same layer. Between devices' memories and pinned memory this
 * is one launch of a kernel on few multiprocessors, or a batch of the driver's copies. */

/* Memory in blocks. */
typedef struct isthmus_block_pool {
  void* address;
  size_t count;        /* blocks */
  size_t stride_bytes; /* from one block to the next; 0: the size of a block */
} isthmus_block_pool;

/* A copy of blocks. Begin with ISTHMUS_BLOCK_COPY_INIT. */
typedef struct isthmus_block_copy {
  size_t struct_size;                /* sizeof(isthmus_block_copy) */
  const isthmus_block_pool* targets; /* [num_layers] */
  const isthmus_block_pool* sources; /* [num_layers] */
  size_t num_layers;
  size_t block_bytes;
  const void* target_index; /* [num_blocks], in host memory or on the device that makes the copy */
  const void* source_index; /* the same */
  size_t index_bytes;       /* of an index, which is signed: 4 or 8 */
  size_t num_blocks;
  void* stream;            /* as in isthmus_copy_options; indices on a device are read in it */
  int num_multiprocessors; /* the most that it uses; 0: as few as reach the link's speed */
  int urgent;              /* 1: its kernel comes before others */
  const char* way;         /* null: choose; else "kernel", "batch" or "staged" */
} isthmus_block_copy;

#define ISTHMUS_BLOCK_COPY_INIT \
  {sizeof(isthmus_block_copy), NULL, NULL, 0, 0, NULL, NULL, 8, 0, NULL, 0, 0, NULL}

/* Begins a copy of blocks, in the order of the stream; it may be captured if its indices are on the
 * device. Indices on the host are checked before anything starts, and may be changed on return. An
 * index on the device that is outside its pool is skipped. That is told once, with its position:
 * isthmus_future_wait(), the next run of the same prepared copy, or isthmus_check_blocks() fails,
 * whichever is called first. A block of a target occurs once, unless it gets the same source each time.
 *
 * future  receives the future, to be freed by the caller; unchanged on failure. Null: none is wanted */
ISTHMUS_API isthmus_status isthmus_copy_blocks(const isthmus_block_copy* copy,
                                               isthmus_future** future, isthmus_error* error);

/* A copy whose memory is checked, and whose indices are kept. May be run from any thread. */
typedef struct isthmus_prepared_copy isthmus_prepared_copy;

/* Prepares a copy of blocks for many runs.
 *
 * prepared  receives the copy, to be freed by the caller; unchanged on failure */
ISTHMUS_API isthmus_status isthmus_prepare_blocks(const isthmus_block_copy* copy,
                                                  isthmus_prepared_copy** prepared,
                                                  isthmus_error* error);
/* As isthmus_copy_blocks(). Of a captured stream the copy must live as long as the graph. */
ISTHMUS_API isthmus_status isthmus_prepared_run(const isthmus_prepared_copy* prepared, void* stream,
                                                isthmus_future** future, isthmus_error* error);
/* Waits for the device's work, if the copy keeps indices there. Null is allowed. */
ISTHMUS_API void isthmus_prepared_free(isthmus_prepared_copy* prepared);

/* Fails if kernels have found an index outside its pool of which nobody was told. Wait for the copies
 * first. */
ISTHMUS_API isthmus_status isthmus_check_blocks(isthmus_error* error);

/* Closes the windows that copies have opened, and unpins staging buffers that no copy uses. */
ISTHMUS_API isthmus_status isthmus_trim(isthmus_error* error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
