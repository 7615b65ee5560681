// gdrdrv's answers to ioctls: a module that answers otherwise than GDRCopy's is refused, and
// nothing is lost on the way.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "input_bytes.hpp"
#include "lying_files.hpp"
#include "window/backends/gdrdrv_abi.hpp"
#include "window/fakes/fake_gdrdrv.hpp"
#include "window_machine.hpp"

namespace isthmus::fuzz {
namespace {

namespace gdrdrv = window::gdrdrv;

/// Most requests declare the size of a pointer where that of the struct belongs.
Answer answer_of(unsigned long request, void* argument) {
  switch (request) {
    case gdrdrv::kPinBuffer:
      return {memory(argument, sizeof(gdrdrv::PinBuffer))};
    case gdrdrv::kUnpinBuffer:
      return {memory(argument, sizeof(gdrdrv::UnpinBuffer))};
    case gdrdrv::kGetInfo:
      return {memory(argument, sizeof(gdrdrv::GetInfo))};
    case gdrdrv::kGetInfoV2:
      return {memory(argument, sizeof(gdrdrv::GetInfoV2))};
    case gdrdrv::kGetAttribute:
      return {memory(argument, sizeof(gdrdrv::GetAttribute))};
    case gdrdrv::kGetVersion:
      return {memory(argument, sizeof(gdrdrv::GetVersion))};
    default:
      return {};
  }
}

}  // namespace
}  // namespace isthmus::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  using namespace isthmus;
  fuzz::InputBytes input(data, size_bytes);
  const Driver& driver = fuzz::WindowMachine::instance().driver();
  const auto kernel = std::make_shared<window::fakes::FakeGdrdrv>(driver);
  if (input.byte() % 2 == 0) kernel->settings.version = window::gdrdrv::version_of(2, 3);
  const auto files =
      std::make_shared<fuzz::LyingFiles>(window::fakes::files_of(kernel), &fuzz::answer_of, input);
  fuzz::live([&] { return window::open_gdrdrv_backend(driver, files); }, *kernel);
  return 0;
}
