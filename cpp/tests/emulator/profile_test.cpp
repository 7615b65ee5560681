// Profiles: the list, and that each machine is as described.
#include <array>
#include <cstring>

#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

class OnSmall : public EmulatedMachine {};
class OnTwoGpus : public EmulatedMachine {
protected:
  OnTwoGpus() : EmulatedMachine("two-gpus") {}
};
class OnNoGpu : public EmulatedMachine {
protected:
  OnNoGpu() : EmulatedMachine("no-gpu") {}
};
class OnTinyMemory : public EmulatedMachine {
protected:
  OnTinyMemory() : EmulatedMachine("tiny-memory") {}
};
class WithoutMemoryOperations : public EmulatedMachine {
protected:
  WithoutMemoryOperations() : EmulatedMachine("no-stream-memory-operations") {}
};

TEST_F(OnSmall, EveryProfileIsListedWithALineAboutIt) {
  std::string text = controls().profiles();
  text.insert(0, 1, '\n');
  for (const char* name :
       {"small", "two-gpus", "no-gpu", "old-driver", "tiny-memory", "no-stream-memory-operations",
        "two-gpus-apart", "two-gpus-one-busy", "exclusive", "vanishing", "confidential",
        "half-link", "little-memlock", "h100-pcie5"}) {
    const std::string row = std::string("\n").append(name).append("\t");
    EXPECT_NE(text.find(row), std::string::npos) << name;
  }
}

TEST_F(OnSmall, TheDevicesNameSaysThatItIsEmulated) {
  std::array<char, 64> name{};
  driver().call(symbol::device_get_name)(name.data(), static_cast<int>(name.size()), 0);
  EXPECT_STREQ(name.data(), "Isthmus Emulated GPU (small link)");
  driver().call(symbol::device_get_name)(name.data(), 8, 0);
  EXPECT_STREQ(name.data(), "Isthmus");
}

TEST_F(OnSmall, AnotherProfileIsRefusedWhileAContextIsAlive) {
  enter();
  EXPECT_STREQ(controls().select_profile("two-gpus"),
               "the emulated driver's profile can't change while a context is alive");
  EXPECT_EQ(controls().select_profile("small"), nullptr);
  EXPECT_STREQ(controls().profile(), "small");
}

TEST_F(OnSmall, AnotherProfileHasToBeInitialisedFirst) {
  EXPECT_EQ(controls().select_profile("two-gpus"), nullptr);
  int count = 0;
  EXPECT_EQ(driver().raw(symbol::device_get_count)(&count), CUDA_ERROR_NOT_INITIALIZED);
  driver().call(symbol::init)(0u);
  driver().call(symbol::device_get_count)(&count);
  EXPECT_EQ(count, 2);
}

TEST_F(OnTwoGpus, DevicesDifferInUuidAndPciAddress) {
  std::array<CUuuid, 2> uuids{};
  std::array<std::array<char, 32>, 2> addresses{};
  for (int ordinal = 0; ordinal < 2; ++ordinal) {
    const auto index = static_cast<std::size_t>(ordinal);
    driver().call(symbol::device_get_uuid)(&uuids[index], ordinal);
    driver().call(symbol::device_get_pci_bus_id)(addresses[index].data(), 32, ordinal);
  }
  EXPECT_NE(std::memcmp(uuids[0].bytes, uuids[1].bytes, sizeof uuids[0].bytes), 0);
  EXPECT_STREQ(addresses[0].data(), "FFFF:01:00.0");
  EXPECT_STREQ(addresses[1].data(), "FFFF:02:00.0");
}

TEST_F(OnTwoGpus, EachDeviceHasItsOwnMemoryAndContext) {
  const CUcontext second = enter(1);
  const CUdeviceptr device = device_memory(kMiB);
  int ordinal = -1;
  driver().call(symbol::pointer_get_attribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                               device);
  EXPECT_EQ(ordinal, 1);
  CUcontext first = nullptr;
  driver().call(symbol::primary_ctx_retain)(&first, 0);
  EXPECT_NE(first, second);
  driver().call(symbol::ctx_push_current)(first);
  std::size_t free = 0;
  std::size_t total = 0;
  driver().call(symbol::mem_get_info)(&free, &total);
  EXPECT_EQ(free, total);
  driver().call(symbol::ctx_pop_current)(&first);
  driver().call(symbol::primary_ctx_release)(0);
}

TEST_F(OnTwoGpus, AStreamIsAnInvalidHandleInTheOtherDevicesContext) {
  enter(0);
  const CUstream of_first = stream();
  CUcontext other = nullptr;
  driver().call(symbol::primary_ctx_retain)(&other, 1);
  driver().call(symbol::ctx_push_current)(other);
  EXPECT_EQ(query(of_first), CUDA_ERROR_INVALID_HANDLE);
  driver().call(symbol::ctx_pop_current)(&other);
  driver().call(symbol::primary_ctx_release)(1);
}

TEST_F(OnTwoGpus, AStreamOfOneDeviceWaitsForAnEventOfTheOther) {
  enter(0);
  const CUstream first = stream();
  auto* flag = reinterpret_cast<std::uint32_t*>(pinned_memory(sizeof(std::uint32_t)));
  driver().call(symbol::stream_wait_value32)(first, reinterpret_cast<CUdeviceptr>(flag), 1u, 0u);
  const CUevent point = record(first);
  CUcontext other = nullptr;
  driver().call(symbol::primary_ctx_retain)(&other, 1);
  driver().call(symbol::ctx_push_current)(other);
  const CUstream second = stream();
  driver().call(symbol::stream_wait_event)(second, point, 0u);
  EXPECT_EQ(query(second), CUDA_ERROR_NOT_READY);
  __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
  synchronize(second);
  driver().call(symbol::ctx_pop_current)(&other);
  driver().call(symbol::primary_ctx_release)(1);
}

TEST_F(OnNoGpu, InitialisingFailsAsOnAMachineWithoutAGpu) {
  EXPECT_EQ(driver().raw(symbol::init)(0u), CUDA_ERROR_NO_DEVICE);
  int count = 0;
  EXPECT_EQ(driver().raw(symbol::device_get_count)(&count), CUDA_ERROR_NOT_INITIALIZED);
}

TEST_F(OnTinyMemory, MemoryRunsOutAtItsCapacityAndComesBack) {
  enter();
  CUdeviceptr refused = 0;
  EXPECT_EQ(driver().raw(symbol::mem_alloc)(&refused, 64 * kMiB + 1), CUDA_ERROR_OUT_OF_MEMORY);
  const CUdeviceptr all = device_memory(64 * kMiB);
  EXPECT_EQ(driver().raw(symbol::mem_alloc)(&refused, std::size_t{1}), CUDA_ERROR_OUT_OF_MEMORY);
  driver().call(symbol::mem_free)(all);
  EXPECT_NO_THROW(device_memory(64 * kMiB));
}

TEST_F(WithoutMemoryOperations, TheDevicesAttributeSaysSoToo) {
  EXPECT_FALSE(driver().has(symbol::stream_wait_value32));
  int supported = -1;
  driver().call(symbol::device_get_attribute)(&supported,
                                              CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 0);
  EXPECT_EQ(supported, 0);
}

}  // namespace
}  // namespace isthmus::emulated
