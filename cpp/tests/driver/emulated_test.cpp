// The loader with the emulated driver: every profile has the promised symbols of symbols.inc.
#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include "driver/driver.hpp"
#include "driver/locate.hpp"

namespace isthmus {
namespace {

TEST(EmulatedDriver, HasEverySymbolThatIsthmusCalls) {
  const Driver driver = Driver::open("emulated");
  EXPECT_EQ(driver.missing_symbols(), std::vector<std::string>{});
#define ISTHMUS_DRIVER_SYMBOL(member, symbol_name, abi, since, requirement) \
  EXPECT_TRUE(driver.has(symbol::member)) << #symbol_name;
#include "driver/symbols.inc"
#undef ISTHMUS_DRIVER_SYMBOL
}

TEST(EmulatedDriver, SaysThatItIsEmulated) {
  const Driver driver = Driver::open("emulated");
  EXPECT_TRUE(driver.emulated());
  EXPECT_EQ(driver.profile(), "small");
  EXPECT_EQ(driver.version(), 13000);
  EXPECT_EQ(driver.device_count(), 1);
}

TEST(EmulatedDriver, SaysSoAlsoWhenItIsOpenedByItsPath) {
  const Driver driver = Driver::open(own_folder() + "/libisthmus_emulator.so");
  EXPECT_TRUE(driver.emulated());
}

TEST(EmulatedDriver, HasTwoDevicesInTwoGpus) {
  EXPECT_EQ(Driver::open("emulated:two-gpus").device_count(), 2);
}

TEST(EmulatedDriver, HasNoDeviceInNoGpu) {
  EXPECT_EQ(Driver::open("emulated:no-gpu").device_count(), 0);
}

TEST(EmulatedDriver, IsRefusedInOldDriver) {
  EXPECT_THROW(Driver::open("emulated:old-driver"), Unavailable);
}

TEST(EmulatedDriver, LacksOnlyTheStreamMemoryOperationsInNoStreamMemoryOperations) {
  const Driver driver = Driver::open("emulated:no-stream-memory-operations");
  EXPECT_EQ(driver.missing_symbols(),
            (std::vector<std::string>{"cuStreamWaitValue32", "cuStreamWriteValue32"}));
}

TEST(EmulatedDriver, TurnsItsErrorsIntoExceptionsWithCudasNames) {
  const Driver driver = Driver::open("emulated");
  CUdeviceptr pointer = 0;
  try {
    driver.call(symbol::mem_alloc)(&pointer, std::size_t{16});
    FAIL() << "allocated without a context";
  } catch (const DriverError& error) {
    EXPECT_EQ(error.code(), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(error.code_name(), "CUDA_ERROR_INVALID_CONTEXT");
    EXPECT_EQ(error.symbol(), "cuMemAlloc");
  }
}

}  // namespace
}  // namespace isthmus
