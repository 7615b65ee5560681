#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "test_driver.hpp"

namespace isthmus {
namespace {

TEST(Buffers, CarryBytesToTheDeviceAndBack) {
  const Context context = test::context();
  const CurrentContext current(context);
  const PinnedBuffer source(context, 1000);
  const PinnedBuffer target(context, 1000);
  const DeviceBuffer device(context, 1000);
  for (std::size_t i = 0; i < 1000; ++i) source.data()[i] = static_cast<std::byte>(i * 7);
  const Stream stream(context);
  context.driver().call(symbol::memcpy_htod_async)(device.pointer(), source.data(), 1000UL,
                                                   stream.handle());
  context.driver().call(symbol::memcpy_dtoh_async)(target.data(), device.pointer(), 1000UL,
                                                   stream.handle());
  stream.synchronize();
  EXPECT_EQ(std::memcmp(source.data(), target.data(), 1000), 0);
}

TEST(Buffers, RefuseToBeEmpty) {
  EXPECT_THROW(DeviceBuffer(test::context(), 0), UsageError);
  EXPECT_THROW(PinnedBuffer(test::context(), 0), UsageError);
}

TEST(Buffers, SayOutOfMemoryWithCudasCodeWhenTheyDoNotFit) {
  const Context context = test::context();
  try {
    const DeviceBuffer buffer(context, context.device().total_memory_bytes * 2);
    FAIL() << "twice the device's memory was allocated";
  } catch (const OutOfDeviceMemory& error) {
    EXPECT_EQ(error.code(), 2);
    EXPECT_EQ(error.symbol(), "cuMemAlloc");
    EXPECT_EQ(error.code_name(), "CUDA_ERROR_OUT_OF_MEMORY");
  }
}

TEST(Buffers, LeaveTheMovedFromObjectEmpty) {
  const Context context = test::context();
  DeviceBuffer first(context, 4096);
  const CUdeviceptr pointer = first.pointer();
  const DeviceBuffer second = std::move(first);
  EXPECT_EQ(second.pointer(), pointer);
  EXPECT_EQ(first.pointer(), 0U);  // NOLINT(bugprone-use-after-move): that is the promise
}

TEST(Streams, AreInOrderAcrossAnEvent) {
  const Context context = test::context();
  const CurrentContext current(context);
  const PinnedBuffer host(context, 4);
  const DeviceBuffer device(context, 4);
  const Stream writer(context);
  const Stream reader(context);
  const Event written(context, Event::Timing::disabled);
  context.driver().call(symbol::memset_d32_async)(device.pointer(), 0xC0FFEEU, std::size_t{1},
                                                  writer.handle());
  written.record(writer.handle());
  reader.wait(written);
  context.driver().call(symbol::memcpy_dtoh_async)(host.data(), device.pointer(), 4UL,
                                                   reader.handle());
  reader.synchronize();
  EXPECT_TRUE(written.complete());
  std::uint32_t value = 0;
  std::memcpy(&value, host.data(), sizeof value);
  EXPECT_EQ(value, 0xC0FFEEU);
}

}  // namespace
}  // namespace isthmus
