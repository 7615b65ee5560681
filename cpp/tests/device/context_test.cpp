#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "test_driver.hpp"

namespace isthmus {
namespace {

CUcontext current_context() {
  CUcontext context = nullptr;
  test::driver().call(symbol::ctx_get_current)(&context);
  return context;
}

TEST(Context, IsNeverMadeCurrentBehindTheCallersBack) {
  const CUcontext before = current_context();
  const Context context = test::context();
  EXPECT_EQ(current_context(), before);
  {
    const DeviceBuffer buffer(context, 4096);
  }
  {
    const PinnedBuffer buffer(context, 4096);
  }
  {
    const Stream stream(context);
  }
  {
    const Event event(context);
  }
  EXPECT_GT(context.free_memory_bytes(), 0U);
  EXPECT_EQ(current_context(), before);
}

TEST(Context, IsCurrentForAsLongAsItsScopeAndScopesNest) {
  const Context context = test::context();
  const CUcontext before = current_context();
  {
    const CurrentContext outer(context);
    EXPECT_EQ(current_context(), context.handle());
    {
      const CurrentContext inner(context);
    }
    EXPECT_EQ(current_context(), context.handle());
  }
  EXPECT_EQ(current_context(), before);
}

TEST(Context, LivesAsLongAsAnythingMadeFromIt) {
  std::optional<Context> context = test::context();
  const Stream stream(*context);
  context.reset();
  const CurrentContext current(stream.context());
  stream.synchronize();
  EXPECT_TRUE(stream.idle());
}

TEST(DeviceFacts, NameTheDeviceInTheFormsThatToolsPrint) {
  const DeviceFacts facts = read_device_facts(test::driver(), 0);
  EXPECT_FALSE(facts.name.empty());
  EXPECT_EQ(facts.uuid.size(), 40U);
  EXPECT_TRUE(facts.uuid.starts_with("GPU-"));
  EXPECT_EQ(facts.pci_address.size(), 12U);
  EXPECT_EQ(facts.pci_address[4], ':');
  EXPECT_GE(facts.compute_capability.first, 7);
  EXPECT_GT(facts.total_memory_bytes, 0U);
  EXPECT_GT(facts.num_copy_engines, 0);
}

TEST(DeviceFacts, RefuseADeviceThatIsNotThereAndSayWhichAre) {
  const int count = test::driver().device_count();
  try {
    read_device_facts(test::driver(), count);
    FAIL() << "a device past the last one was accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("valid are 0 to " + std::to_string(count - 1)),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(read_device_facts(test::driver(), -1), UsageError);
}

}  // namespace
}  // namespace isthmus
