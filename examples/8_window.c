/* Writes and reads GPU memory from the CPU, without a copy command.
 *
 *     cc 8_window.c $(pkg-config --cflags --libs isthmus) -lcuda
 *
 * cuda.h and -lcuda are NVIDIA's. Without a GPU, use -listhmus_emulator instead of -lcuda. */
#include <cuda.h>
#include <isthmus/isthmus.h>
#include <stdio.h>

static int complain(const char* message) {
  printf("%s\n", message);
  return 1;
}

static int use(CUdeviceptr device_pointer) {
  isthmus_error error;
  isthmus_window* window;
  if (isthmus_window_open(device_pointer, 4096, NULL, &window, &error) != ISTHMUS_OK)
    return complain(error.message);

  const float data[4] = {1, 2, 3, 4};
  const uint32_t flag = 1;
  float answer[4];
  int failed = isthmus_window_write(window, 256, data, sizeof data, &error) != ISTHMUS_OK ||
               isthmus_window_write(window, 0, &flag, sizeof flag, &error) != ISTHMUS_OK ||
               isthmus_window_read(window, answer, 256, sizeof answer, &error) != ISTHMUS_OK;
  if (failed)
    complain(error.message);
  else
    printf("%g %g %g %g, by way of %s\n", answer[0], answer[1], answer[2], answer[3],
           isthmus_window_backend(window));
  isthmus_window_close(window);
  return failed;
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUdeviceptr memory;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&memory, 4096) != CUDA_SUCCESS)
    return complain("no GPU memory");
  const int failed = use(memory);
  cuMemFree(memory);
  cuDevicePrimaryCtxRelease(device);
  return failed;
}
