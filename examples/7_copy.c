/* Copies to a GPU and back, along the cheapest path on this machine.
 *
 *     cc 7_copy.c $(pkg-config --cflags --libs isthmus) -lcuda
 *
 * cuda.h and -lcuda are NVIDIA's. Without a GPU, use -listhmus_emulator instead of -lcuda. */
#include <cuda.h>
#include <isthmus/isthmus.h>
#include <stdio.h>
#include <string.h>

enum { kBytes = 1 << 20 };
static unsigned char numbers[kBytes];
static unsigned char answer[kBytes];

static int complain(const char* message) {
  printf("%s\n", message);
  return 1;
}

static int use(void* device) {
  isthmus_error error;
  isthmus_copy_plan plan = {.struct_size = sizeof plan};
  for (size_t i = 0; i < kBytes; ++i) numbers[i] = (unsigned char)(i * 7);
  if (isthmus_explain_copy(device, numbers, kBytes, NULL, &plan, &error) != ISTHMUS_OK ||
      isthmus_copy(device, numbers, kBytes, NULL, &error) != ISTHMUS_OK ||
      isthmus_copy(answer, device, kBytes, NULL, &error) != ISTHMUS_OK)
    return complain(error.message);
  printf("by %s: %s\n", plan.path, memcmp(numbers, answer, kBytes) == 0 ? "the same" : "differs");
  return 0;
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUdeviceptr memory;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&memory, kBytes) != CUDA_SUCCESS)
    return complain("no GPU memory");
  const int failed = use((void*)memory);
  cuMemFree(memory);
  cuDevicePrimaryCtxRelease(device);
  return failed;
}
