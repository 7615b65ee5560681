/* GDRCopy's interface, version 2.6, as Isthmus implements it: CPU mappings of GPU memory without
 * GDRCopy's kernel module. Include this header in new programs; programs that are already built
 * need only the library, libgdrapi.so.2.
 *
 * Written from the interface's public documentation. Names, values, layouts and return values are
 * GDRCopy's. These things differ or exist only here:
 *
 * - Functions that return int return 0 or a positive errno code. A function that fails changes
 *   nothing. EINVAL: the caller's mistake (also where GDRCopy would crash: null pointers, closed
 *   handles, copies past the end of a mapping). ENOMEM: memory or BAR1 is used up. ENOTSUP: the
 *   device's memory can't be mapped on this machine. EAGAIN: a second gdr_map() of one pin.
 * - Mappings are persistent: they stay valid when CUDA frees the buffer, and hold its memory until
 *   gdr_unpin_buffer(). (A buffer under 2 MiB shares its memory with others; CUDA may give the
 *   freed part to the next allocation.) With GDRCopy's module as the backend, mappings behave as
 *   that module makes them.
 * - A pin holds the mapping; gdr_map() and gdr_unmap() only hand it out. So the address becomes
 *   invalid at gdr_unpin_buffer() or gdr_close(), not at gdr_unmap().
 * - Every function may be called from any thread. gdr_copy_* may run beside anything except
 *   gdr_unmap() and gdr_unpin_buffer() of their own handle.
 * - A child of fork() has neither its parent's handles (EINVAL) nor their mappings (touching one
 *   faults). CUDA is not used before the first pin, so a program may gdr_open() and then fork().
 *
 * Environment: GDRCOPY_ENABLE_LOGGING, if set, turns on messages on stderr. GDRCOPY_LOG_LEVEL is
 * the lowest level to print: 1 debug, 2 info, 3 warnings, 4 errors (the default). ISTHMUS_WINDOW
 * chooses how memory is mapped, or is "off". GDRCOPY_USE_DMABUF_MMAP is therefore ignored. */
#ifndef ISTHMUS_GDRAPI_H
#define ISTHMUS_GDRAPI_H
#define __GDRAPI_H__ /* so that GDRCopy's own header, included later, adds nothing */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): GDRCopy's names. */

/* Versions are one number: major in the upper half, minor in the lower. */
#define MAJOR_VERSION_SHIFT 16
#define MINOR_VERSION_MASK (((uint32_t)1 << MAJOR_VERSION_SHIFT) - 1)

#define GDR_API_MAJOR_VERSION 2
#define GDR_API_MINOR_VERSION 6
#define GDR_API_VERSION ((GDR_API_MAJOR_VERSION << MAJOR_VERSION_SHIFT) | GDR_API_MINOR_VERSION)

/* The oldest kernel module that GDRCopy 2.6 works with. */
#define MINIMUM_GDRDRV_MAJOR_VERSION 2
#define MINIMUM_GDRDRV_MINOR_VERSION 0
#define MINIMUM_GDRDRV_VERSION \
  ((MINIMUM_GDRDRV_MAJOR_VERSION << MAJOR_VERSION_SHIFT) | MINIMUM_GDRDRV_MINOR_VERSION)

/* The pages that pins are made of. */
#define GPU_PAGE_SHIFT 16
#define GPU_PAGE_SIZE (1UL << GPU_PAGE_SHIFT)
#define GPU_PAGE_OFFSET (GPU_PAGE_SIZE - 1)
#define GPU_PAGE_MASK (~GPU_PAGE_OFFSET)

#if defined(__GNUC__)
#define ISTHMUS_GDR_API __attribute__((visibility("default")))
#else
#define ISTHMUS_GDR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct gdr;
typedef struct gdr* gdr_t;

/* A pinned buffer. All bits zero: no buffer. */
typedef struct gdr_mh_s {
  unsigned long h;
} gdr_mh_t;

typedef enum gdr_pin_flags {
  GDR_PIN_FLAG_DEFAULT = 0,
  /* Map across PCIe, even if a coherent link could. This library always does. */
  GDR_PIN_FLAG_FORCE_PCIE = 1
} gdr_pin_flags_t;

typedef enum gdr_mapping_type {
  GDR_MAPPING_TYPE_NONE = 0,
  GDR_MAPPING_TYPE_WC = 1, /* write-combined: the only type that this library makes */
  GDR_MAPPING_TYPE_CACHING = 2,
  GDR_MAPPING_TYPE_DEVICE = 3,
  GDR_MAPPING_TYPE_MAX
} gdr_mapping_type_t;

typedef struct gdr_info_v2 {
  uint64_t va;            /* device address of the first pinned page */
  uint64_t mapped_size;   /* bytes in whole pinned pages */
  uint32_t page_size;     /* GPU_PAGE_SIZE */
  uint64_t tm_cycles;     /* deprecated: 0 */
  uint32_t cycles_per_ms; /* deprecated: 0 */
  unsigned mapped : 1;
  unsigned wc_mapping : 1;
  gdr_mapping_type_t mapping_type;
} gdr_info_v2_t;
typedef gdr_info_v2_t gdr_info_t;

typedef enum gdr_map_flags {
  GDR_MAP_FLAG_DEFAULT = 0,
  GDR_MAP_FLAG_REQ_WC_MAPPING = 1,
  GDR_MAP_FLAG_REQ_CACHE_MAPPING = 2,
  GDR_MAP_FLAG_REQ_DEVICE_MAPPING = 3
} gdr_map_flags_t;

typedef enum gdr_attr {
  /* 1: mappings outlive the buffer. 0 if GDRCopy's module may be the backend. */
  GDR_ATTR_USE_PERSISTENT_MAPPING = 1,
  /* 1: GDR_PIN_FLAG_FORCE_PCIE is accepted. */
  GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE = 2,
  /* 0: the rules of GDRCopy's dma-buf backend don't apply here. */
  GDR_ATTR_USING_DMA_BUF_MMAP = 3,
  GDR_ATTR_MAX
} gdr_attr_t;

/* Makes a handle for pins. Returns null, with errno and a logged reason, if there is no CUDA driver
 * library or windows are turned off. Whether memory can be mapped is only known once the first
 * buffer is pinned. */
ISTHMUS_GDR_API gdr_t gdr_open(void);

/* Unpins and unmaps everything that was pinned with the handle, and frees the handle. */
ISTHMUS_GDR_API int gdr_close(gdr_t g);

/* Pins the GPU pages around a buffer of device memory.
 *
 * addr       device, any alignment; not managed memory
 * size       > 0, inside the allocation
 * p2p_token, va_space  0: tokens are no longer supported
 * handle     where the new handle goes */
ISTHMUS_GDR_API int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token,
                                   uint32_t va_space, gdr_mh_t* handle);

/* Like gdr_pin_buffer(), without tokens.
 *
 * flags      gdr_pin_flags_t */
ISTHMUS_GDR_API int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags,
                                      gdr_mh_t* handle);

/* Releases the pages, and unmaps them if they are mapped. The handle is invalid afterwards. */
ISTHMUS_GDR_API int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle);

/* Stores 1 in `flag` if the buffer was freed and the mapping went with it. Persistent mappings
 * stay: then it stores 0. */
ISTHMUS_GDR_API int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int* flag);

ISTHMUS_GDR_API int gdr_get_info_v2(gdr_t g, gdr_mh_t handle, gdr_info_v2_t* info);
#define gdr_get_info gdr_get_info_v2

/* Maps a pin's pages for the CPU, starting at the first page: the buffer starts `addr - info.va`
 * bytes after the returned address. A pin can have one mapping at a time.
 *
 * va         receives the CPU's address
 * size       > 0; rounded up to whole CPU pages; no more than what is pinned
 * EINVAL     also if the pinned address is not a multiple of GPU_PAGE_SIZE */
ISTHMUS_GDR_API int gdr_map(gdr_t g, gdr_mh_t handle, void** va, size_t size);

/* flags      gdr_map_flags_t; EINVAL for a type other than write-combined */
ISTHMUS_GDR_API int gdr_map_v2(gdr_t g, gdr_mh_t handle, void** ptr_va, size_t size, int flags);

/* Ends a mapping.
 *
 * va         the address from gdr_map()
 * size       the size passed to gdr_map() */
ISTHMUS_GDR_API int gdr_unmap(gdr_t g, gdr_mh_t handle, void* va, size_t size);

/* Copies host bytes to a mapping, and fences: work that this thread launches later sees them. A
 * kernel that is already running may see them in any order; see isthmus/isthmus.h.
 *
 * map_d_ptr  anywhere in the handle's mapping, any alignment
 * size       0 is allowed */
ISTHMUS_GDR_API int gdr_copy_to_mapping(gdr_mh_t handle, void* map_d_ptr, const void* h_ptr,
                                        size_t size);

/* Copies from a mapping to the host; complete when it returns. */
ISTHMUS_GDR_API int gdr_copy_from_mapping(gdr_mh_t handle, void* h_ptr, const void* map_d_ptr,
                                          size_t size);

/* The version of the interface: 2.6. */
ISTHMUS_GDR_API void gdr_runtime_get_version(int* major, int* minor);

/* The version of the kernel module that this library replaces: also 2.6. */
ISTHMUS_GDR_API int gdr_driver_get_version(gdr_t g, int* major, int* minor);

ISTHMUS_GDR_API int gdr_get_attribute(gdr_t g, gdr_attr_t attr, int* v);

/* The name of a mapping type, as GDRCopy's tests print it. */
ISTHMUS_GDR_API int gdr_get_mapping_type_string(gdr_mapping_type_t mapping_type, const char** pstr);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
