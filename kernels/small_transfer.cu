// The light kernels of the small-transfer experiments. Each changes one word, so that a copy or a
// kernel that did not run changes the sum of the values.
//
// CPU reference: SmallTransferBuffers::check of measure/small_transfer_buffers.cpp. Launch: <<<1,
// 1>>>. 4 bytes a launch.
#include "portable.cuh"

/// word      device, [1]; set to `value`
extern "C" __global__ void isthmus_small_transfer_set(uint32_t* word, uint32_t value) {
  if (isthmus_lane() == 0) *word = value;
}

/// word      device, [1]; its bits are inverted
extern "C" __global__ void isthmus_small_transfer_invert(uint32_t* word) {
  if (isthmus_lane() == 0) *word = ~*word;
}
