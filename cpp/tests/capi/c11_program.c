/* A program in plain C11 that uses both headers: it compiles, and what it does works.
 *
 * argv[1]: the driver's library, where it takes its device memory from. */
#include <dlfcn.h>
#include <gdrapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <isthmus/isthmus.h>

typedef int (*init_function)(unsigned flags);
typedef int (*retain_function)(void** context, int device);
typedef int (*make_current_function)(void* context);
typedef int (*allocate_function)(uint64_t* pointer, size_t size_bytes);

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(EXIT_FAILURE);
}

/* ISO C has no cast from an object pointer to a function's. */
static void find(void* library, const char* name, void* function) {
  void* const found = dlsym(library, name);
  require(found != NULL, name);
  memcpy(function, &found, sizeof found);
}

static uint64_t device_memory(const char* driver, size_t size_bytes) {
  void* const library = dlopen(driver, RTLD_NOW);
  require(library != NULL, "the driver's library opens");
  init_function init;
  retain_function retain;
  make_current_function make_current;
  allocate_function allocate;
  find(library, "cuInit", &init);
  find(library, "cuDevicePrimaryCtxRetain", &retain);
  find(library, "cuCtxSetCurrent", &make_current);
  find(library, "cuMemAlloc_v2", &allocate);
  void* context = NULL;
  uint64_t pointer = 0;
  require(init(0) == 0, "cuInit");
  require(retain(&context, 0) == 0 && make_current(context) == 0, "a context");
  require(allocate(&pointer, size_bytes) == 0, "device memory");
  return pointer;
}

static void use_a_window(uint64_t pointer) {
  isthmus_error error;
  isthmus_window* window = NULL;
  isthmus_window_options options = ISTHMUS_WINDOW_OPTIONS_INIT;
  options.check = ISTHMUS_CHECK_ON_OPENING;
  if (isthmus_window_open(pointer, 4096, &options, &window, &error) != ISTHMUS_OK) {
    fprintf(stderr, "%s: %s\n", isthmus_status_name(error.status), error.message);
    exit(EXIT_FAILURE);
  }
  const int answer = 42;
  int seen = 0;
  require(isthmus_window_write(window, 100, &answer, sizeof answer, &error) == ISTHMUS_OK, "write");
  require(isthmus_window_read(window, &seen, 100, sizeof seen, &error) == ISTHMUS_OK, "read");
  require(seen == answer, "what was written is read");
  require(isthmus_window_read(window, &seen, 4095, sizeof seen, &error) == ISTHMUS_USAGE_ERROR,
          "reading past the end is refused");
  isthmus_window_close(window);
}

static void use_gdrcopys_interface(uint64_t pointer) {
  const uint64_t aligned = (pointer + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
  const gdr_t g = gdr_open();
  require(g != NULL, "gdr_open");
  gdr_mh_t handle = {0};
  require(gdr_pin_buffer(g, aligned, GPU_PAGE_SIZE, 0, 0, &handle) == 0, "gdr_pin_buffer");
  void* mapped = NULL;
  require(gdr_map(g, handle, &mapped, GPU_PAGE_SIZE) == 0, "gdr_map");
  gdr_info_t info;
  require(gdr_get_info(g, handle, &info) == 0 && info.va == aligned, "gdr_get_info");
  const int answer = 43;
  int seen = 0;
  require(gdr_copy_to_mapping(handle, mapped, &answer, sizeof answer) == 0, "gdr_copy_to_mapping");
  require(gdr_copy_from_mapping(handle, &seen, mapped, sizeof seen) == 0, "gdr_copy_from_mapping");
  require(seen == answer, "what was copied to the mapping is copied back");
  require(gdr_unmap(g, handle, mapped, GPU_PAGE_SIZE) == 0, "gdr_unmap");
  require(gdr_unpin_buffer(g, handle) == 0, "gdr_unpin_buffer");
  require(gdr_close(g) == 0, "gdr_close");
}

int main(int argc, char** argv) {
  require(argc == 2, "there is one argument: the driver's library");
  require(strlen(isthmus_version()) > 0, "there is a version");
  /* Connects first, so that the emulated driver has its profile before cuInit. */
  require(isthmus_bar1_usage(0, NULL, NULL, NULL) == ISTHMUS_OK, "there is a GPU");
  const uint64_t pointer = device_memory(argv[1], 2 * GPU_PAGE_SIZE);
  use_a_window(pointer);
  use_gdrcopys_interface(pointer);
  return EXIT_SUCCESS;
}
