// Copies the items of an array between two memory layouts, either of which may have gaps or any
// order of dimensions. Either end may be pinned host memory mapped on the device.
//
// Launch: any grid. Each lane moves one item an iteration, in the C order of the shape.
// CPU reference: NumPy, in tests/unit/transfer/test_strided.py.
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
  uint32_t item_bytes;  // 1, 2, 4, 8 or 16 are fast
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

template <typename Word>
__device__ inline void isthmus_copy_items(const IsthmusLayouts& layouts) {
  const uint64_t end = layouts.first + layouts.count;
  for (uint64_t i = layouts.first + isthmus_lane(); i < end; i += isthmus_num_lanes()) {
    const IsthmusPlaces places = isthmus_places(layouts, i);
    *reinterpret_cast<Word*>(places.target) = *reinterpret_cast<const Word*>(places.source);
  }
}

__device__ inline void isthmus_copy_item_bytes(const IsthmusLayouts& layouts) {
  const uint64_t end = layouts.first + layouts.count;
  for (uint64_t i = layouts.first + isthmus_lane(); i < end; i += isthmus_num_lanes()) {
    const IsthmusPlaces places = isthmus_places(layouts, i);
    for (uint32_t k = 0; k < layouts.item_bytes; ++k)
      reinterpret_cast<uint8_t*>(places.target)[k] =
          reinterpret_cast<const uint8_t*>(places.source)[k];
  }
}

/// True if all addresses and strides of both ends are whole words.
__device__ inline bool isthmus_in_words(const IsthmusLayouts& layouts, uint32_t word_bytes) {
  uint64_t all = layouts.target | layouts.source;
  for (uint32_t i = 0; i < layouts.num_dimensions; ++i)
    all |= layouts.target_strides[i] | layouts.source_strides[i];
  return layouts.item_bytes == word_bytes && all % word_bytes == 0;
}

extern "C" __global__ void isthmus_strided(IsthmusLayouts layouts) {
  const uint64_t size_bytes = layouts.count * layouts.item_bytes;
  isthmus_note_read(reinterpret_cast<const void*>(layouts.source), size_bytes);
  isthmus_note_write(reinterpret_cast<void*>(layouts.target), size_bytes);
  if (isthmus_in_words(layouts, 16)) return isthmus_copy_items<uint4>(layouts);
  if (isthmus_in_words(layouts, 8)) return isthmus_copy_items<uint64_t>(layouts);
  if (isthmus_in_words(layouts, 4)) return isthmus_copy_items<uint32_t>(layouts);
  if (isthmus_in_words(layouts, 2)) return isthmus_copy_items<unsigned short>(layouts);
  isthmus_copy_item_bytes(layouts);
}
