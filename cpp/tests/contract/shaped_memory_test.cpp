// Arrays, pitched memory, and the device's pool.
#include <cstring>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class ShapedMemory : public MachineUnderTest {
protected:
  CUarray array(std::size_t width, std::size_t num_rows) {
    return array({width, num_rows, CU_AD_FORMAT_FLOAT, 1});
  }
  CUarray array(const CUDA_ARRAY_DESCRIPTOR& wanted) {
    CUarray made = nullptr;
    driver().call(symbol::array_create)(&made, &wanted);
    at_end([=] { return driver().raw(symbol::array_destroy)(made); });
    return made;
  }
  CUarray array_3d(std::size_t width, std::size_t num_rows, std::size_t num_slices) {
    const CUDA_ARRAY3D_DESCRIPTOR wanted{width, num_rows, num_slices, CU_AD_FORMAT_FLOAT, 1, 0};
    CUarray made = nullptr;
    driver().call(symbol::array_3d_create)(&made, &wanted);
    at_end([=] { return driver().raw(symbol::array_destroy)(made); });
    return made;
  }

  static CUDA_MEMCPY3D box(std::size_t width_bytes, std::size_t num_rows, std::size_t num_slices) {
    CUDA_MEMCPY3D copy{};
    copy.WidthInBytes = width_bytes;
    copy.Height = num_rows;
    copy.Depth = num_slices;
    return copy;
  }
  static CUDA_MEMCPY3D to_array(CUarray target, const void* source, CUDA_MEMCPY3D copy) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = source;
    copy.srcPitch = copy.WidthInBytes;
    copy.srcHeight = copy.Height;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = target;
    return copy;
  }
  static CUDA_MEMCPY3D from_array(void* target, CUarray source, CUDA_MEMCPY3D copy) {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = source;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = target;
    copy.dstPitch = copy.WidthInBytes;
    copy.dstHeight = copy.Height;
    return copy;
  }
  void send(CUarray target, const void* source, const CUDA_MEMCPY3D& wanted) {
    const CUDA_MEMCPY3D copy = to_array(target, source, wanted);
    driver().call(symbol::memcpy_3d)(&copy);
    synchronize(nullptr);
  }
  void fetch(void* target, CUarray source, const CUDA_MEMCPY3D& wanted) {
    const CUDA_MEMCPY3D copy = from_array(target, source, wanted);
    driver().call(symbol::memcpy_3d)(&copy);
  }
  /// Eight rows of 32 words.
  CUresult copy_rows(CUarray array, void* host, bool to_device, CUstream used) {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = host;
    copy.srcArray = copy.dstArray = array;
    copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 32 * sizeof(std::uint32_t);
    copy.Height = 8;
    return driver().raw(symbol::memcpy_2d_async)(&copy, used);
  }
};

TEST_F(ShapedMemory, KeepsTheElementsOfAnArray) {
  const CUarray made = array(32, 8);
  const Bytes sent = pattern(32 * 4 * 8, 1);
  send(made, sent.data(), box(32 * 4, 8, 1));
  Bytes fetched(sent.size());
  fetch(fetched.data(), made, box(32 * 4, 8, 1));
  EXPECT_EQ(fetched, sent);
}

TEST_F(ShapedMemory, IsWrittenWithinABox) {
  const CUarray made = array_3d(8, 4, 3);
  const Bytes all = pattern(8 * 4 * 4 * 3, 2);
  send(made, all.data(), box(8 * 4, 4, 3));
  const std::uint32_t word = 0xdeadbeef;
  CUDA_MEMCPY3D last = box(4, 1, 1);
  last.dstXInBytes = 7 * 4;
  last.dstY = 3;
  last.dstZ = 2;
  send(made, &word, last);
  Bytes expected = all;
  std::memcpy(expected.data() + expected.size() - 4, &word, 4);
  Bytes fetched(all.size());
  fetch(fetched.data(), made, box(8 * 4, 4, 3));
  EXPECT_EQ(fetched, expected);
}

TEST_F(ShapedMemory, IsWrittenAndReadInTheOrderOfAStream) {
  const CUarray made = array(32, 8);
  auto* host = pinned_memory(32 * 4 * 8);
  const Bytes sent = pattern(32 * 4 * 8, 4);
  std::memcpy(host, sent.data(), sent.size());
  const CUstream used = stream();
  Gate held = gate();
  held.hold(used);
  EXPECT_EQ(copy_rows(made, host, true, used), CUDA_SUCCESS);
  EXPECT_EQ(query(used), CUDA_ERROR_NOT_READY);
  held.open();
  synchronize(used);
  Bytes fetched(sent.size());
  fetch(fetched.data(), made, box(32 * 4, 8, 1));
  EXPECT_EQ(fetched, sent);
  std::memset(host, 0, sent.size());
  EXPECT_EQ(copy_rows(made, host, false, used), CUDA_SUCCESS);
  synchronize(used);
  EXPECT_EQ(Bytes(host, host + sent.size()), sent);
}

TEST_F(ShapedMemory, InThreeDimensionsIsWrittenAndReadInAStream) {
  const CUarray made = array_3d(8, 4, 3);
  auto* host = pinned_memory(8 * 4 * 4 * 3);
  const Bytes sent = pattern(8 * 4 * 4 * 3, 5);
  std::memcpy(host, sent.data(), sent.size());
  const CUstream used = stream();
  const CUDA_MEMCPY3D up = to_array(made, host, box(8 * 4, 4, 3));
  const CUDA_MEMCPY3D down = from_array(host, made, box(8 * 4, 4, 3));
  EXPECT_EQ(driver().raw(symbol::memcpy_3d_async)(&up, used), CUDA_SUCCESS);
  synchronize(used);
  Bytes fetched(sent.size());
  fetch(fetched.data(), made, box(8 * 4, 4, 3));
  EXPECT_EQ(fetched, sent);
  std::memset(host, 0, sent.size());
  EXPECT_EQ(driver().raw(symbol::memcpy_3d_async)(&down, used), CUDA_SUCCESS);
  synchronize(used);
  EXPECT_EQ(Bytes(host, host + sent.size()), sent);
}

TEST_F(ShapedMemory, TakesElementsOfOneToSixteenBytes) {
  const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16,
                                    CU_AD_FORMAT_UNSIGNED_INT32};
  for (std::size_t i = 0; i < std::size(formats); ++i) {
    for (const unsigned int num_channels : {1U, 2U, 4U}) {
      const std::size_t row_bytes = 16 * (std::size_t{1} << i) * num_channels;
      const CUarray made = array({16, 4, formats[i], num_channels});
      const Bytes sent = pattern(row_bytes * 4, num_channels);
      send(made, sent.data(), box(row_bytes, 4, 1));
      Bytes fetched(sent.size());
      fetch(fetched.data(), made, box(row_bytes, 4, 1));
      EXPECT_EQ(fetched, sent) << row_bytes / 16 << " bytes an element";
    }
  }
}

TEST_F(ShapedMemory, RefusesABoxThatIsLargerThanIt) {
  const CUarray made = array_3d(8, 4, 3);
  auto* host = pinned_memory(1024);
  for (const CUDA_MEMCPY3D& wrong : {box(9 * 4, 4, 3), box(8 * 4, 5, 3), box(8 * 4, 4, 4)}) {
    const CUDA_MEMCPY3D copy = to_array(made, host, wrong);
    EXPECT_EQ(driver().raw(symbol::memcpy_3d_async)(&copy, nullptr), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(ShapedMemory, OfNoWidthIsRefused) {
  const CUDA_ARRAY_DESCRIPTOR wanted{0, 8, CU_AD_FORMAT_FLOAT, 1};
  CUarray made = nullptr;
  EXPECT_EQ(driver().raw(symbol::array_create)(&made, &wanted), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ShapedMemory, InRowsBeginsEachOfThemAtItsPitch) {
  CUdeviceptr address = 0;
  std::size_t pitch_bytes = 0;
  driver().call(symbol::mem_alloc_pitch)(&address, &pitch_bytes, std::size_t{100}, std::size_t{7},
                                         4U);
  at_end([=] { return driver().raw(symbol::mem_free)(address); });
  EXPECT_GE(pitch_bytes, 100U);
  EXPECT_EQ(pitch_bytes % 4, 0U);
  const Bytes sent = pattern(6 * pitch_bytes + 100, 3);
  send_to_device(address, sent);
  EXPECT_EQ(on_device(address, sent.size()), sent);
}

TEST_F(ShapedMemory, InRowsTakesElementsOfCertainSizesOnly) {
  CUdeviceptr address = 0;
  std::size_t pitch_bytes = 0;
  EXPECT_EQ(driver().raw(symbol::mem_alloc_pitch)(&address, &pitch_bytes, std::size_t{100},
                                                  std::size_t{7}, 3U),
            CUDA_ERROR_INVALID_VALUE);
}

using MemoryPool = MachineUnderTest;

TEST_F(MemoryPool, OfADeviceKeepsNothingUntilItIsTold) {
  CUmemoryPool pool = nullptr;
  driver().call(symbol::device_get_default_mem_pool)(&pool, 0);
  const auto threshold = [&] {
    cuuint64_t bytes = 1;
    driver().call(symbol::mem_pool_get_attribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                  static_cast<void*>(&bytes));
    return bytes;
  };
  EXPECT_EQ(threshold(), 0U);
  cuuint64_t wanted = kMiB;
  driver().call(symbol::mem_pool_set_attribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                static_cast<void*>(&wanted));
  EXPECT_EQ(threshold(), kMiB);
  wanted = 0;
  driver().call(symbol::mem_pool_set_attribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                static_cast<void*>(&wanted));
  EXPECT_EQ(driver().raw(symbol::mem_pool_trim_to)(pool, std::size_t{0}), CUDA_SUCCESS);
}

}  // namespace
}  // namespace isthmus::contract
