// Every device identifies itself, in the forms that other tools use.
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class Device : public MachineUnderTest {
protected:
  int attribute(CUdevice_attribute which) {
    int value = -1;
    driver().call(symbol::device_get_attribute)(&value, which, CUdevice{0});
    return value;
  }
};

TEST_F(Device, HasAName) {
  std::array<char, 256> name{};
  driver().call(symbol::device_get_name)(name.data(), static_cast<int>(name.size()), CUdevice{0});
  EXPECT_GT(std::strlen(name.data()), 0u);
}

TEST_F(Device, HasAPciAddressWithDomainBusAndSlot) {
  std::array<char, 32> address{};
  driver().call(symbol::device_get_pci_bus_id)(address.data(), static_cast<int>(address.size()),
                                               CUdevice{0});
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  int length = 0;
  std::sscanf(address.data(), "%4x:%2x:%2x.0%n", &domain, &bus, &slot, &length);
  EXPECT_EQ(length, 12) << address.data();
  EXPECT_EQ(std::strlen(address.data()), 12u) << address.data();
}

TEST_F(Device, HasAUuid) {
  CUuuid uuid{};
  driver().call(symbol::device_get_uuid)(&uuid, CUdevice{0});
  EXPECT_NE(std::string(uuid.bytes, sizeof uuid.bytes), std::string(sizeof uuid.bytes, '\0'));
}

TEST_F(Device, ReachesHostMemoryByOneSharedAddressSpace) {
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY), 1);
}

TEST_F(Device, HasMultiprocessorsAndCopyEngines) {
  EXPECT_GE(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 1);
  EXPECT_GE(attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT), 1);
  EXPECT_GE(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 7);
}

TEST_F(Device, HasAsMuchMemoryAsItsContextReports) {
  std::size_t by_device = 0;
  std::size_t free = 0;
  std::size_t by_context = 0;
  driver().call(symbol::device_total_mem)(&by_device, CUdevice{0});
  driver().call(symbol::mem_get_info)(&free, &by_context);
  EXPECT_EQ(by_device, by_context);
}

}  // namespace
}  // namespace isthmus::contract
