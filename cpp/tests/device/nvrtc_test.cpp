// Needs NVRTC (the test extra installs it; ctest passes its path), and no device.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include <isthmus/errors.hpp>

#include "device/kernels.hpp"
#include "device/nvrtc.hpp"

namespace isthmus {
namespace {

struct Architecture {
  int major;
  int minor;
};

class EveryKernel : public testing::TestWithParam<Architecture> {};

TEST_P(EveryKernel, CompilesToMachineCode) {
  const Nvrtc nvrtc = Nvrtc::open();
  for (const KernelSource& source : kernel_sources()) {
    const std::string name = source.file_name;
    // More than a minute for each architecture; tests/unit/sim compiles them for others, too.
    if (name.starts_with("workload_") && GetParam().major != 9) continue;
    const KernelImage image =
        nvrtc.compile(name.substr(0, name.find('.')), GetParam().major, GetParam().minor);
    ASSERT_GT(image.size(), 4U) << name;
    EXPECT_EQ(std::memcmp(image.data(), "\177ELF", 4), 0) << name << " did not become a cubin";
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, EveryKernel,
                         testing::Values(Architecture{7, 5}, Architecture{8, 0}, Architecture{9, 0},
                                         Architecture{10, 0}),
                         [](const auto& test) {
                           return "sm_" + std::to_string(test.param.major * 10 + test.param.minor);
                         });

TEST(Nvrtc, MakesPtxForADeviceNewerThanItself) {
  const KernelImage image = Nvrtc::open().compile("spin", 99, 0);
  EXPECT_NE(std::string(image.data()).find(".entry isthmus_spin"), std::string::npos);
}

TEST(Nvrtc, SaysWhichKernelFilesThereAre) {
  try {
    Nvrtc::open().compile("no_such_file", 9, 0);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("copy, echo, gate, gather, "), std::string::npos)
        << error.what();
  }
}

TEST(Nvrtc, ThatIsNotThereNamesTheWheelThatBringsIt) {
  try {
    Nvrtc::open("/nowhere/libnvrtc.so.13");
    FAIL();
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.capability(), "NVRTC");
    EXPECT_NE(error.needs().find("isthmus[cuda13]"), std::string::npos);
  }
}

}  // namespace
}  // namespace isthmus
