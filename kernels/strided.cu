// Copies the items of an array between two memory layouts: see layouts.cuh.
//
// CPU reference: NumPy, in tests/unit/move/transfer/test_strided.py.
#include "layouts.cuh"

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
