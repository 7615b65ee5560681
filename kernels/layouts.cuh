// Items of an array in two memory layouts, either of which may have gaps or any order of dimensions.
// Either end may be pinned host memory mapped on the device.
//
// Launch: any grid. Each lane takes one item an iteration, in the C order of the shape.
#pragma once

#include "portable.cuh"

constexpr int kIsthmusMaxDimensions = 9;  // eight of the array, and the words of an item

/// Two layouts of one array; strides in bytes.
struct IsthmusLayouts {
  uint64_t target, source;  // of the first item
  uint64_t first, count;    // the items of this launch, in C order
  uint64_t shape[kIsthmusMaxDimensions];
  uint64_t target_strides[kIsthmusMaxDimensions];  // negative ones wrap around
  uint64_t source_strides[kIsthmusMaxDimensions];
  uint32_t num_dimensions;
  uint32_t item_bytes;  // of the target, if the items are converted; 1, 2, 4, 8 or 16 are fast
};

struct IsthmusPlaces {
  uint64_t target, source;
};

__device__ inline IsthmusPlaces isthmus_places(const IsthmusLayouts& layouts, uint64_t item) {
  IsthmusPlaces places{layouts.target, layouts.source};
  for (uint32_t i = layouts.num_dimensions; i-- > 0;) {
    const uint64_t rest = item / layouts.shape[i];
    const uint64_t index = item - rest * layouts.shape[i];
    places.target += index * layouts.target_strides[i];
    places.source += index * layouts.source_strides[i];
    item = rest;
  }
  return places;
}
