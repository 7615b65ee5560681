// /dev/gdrdrv: behaves like GDRCopy's kernel module, with the emulated driver's memory.
#pragma once

#include "driver/driver.hpp"
#include "fake_kernel.hpp"
#include "window/backends/gdrdrv_abi.hpp"

namespace isthmus::window::fakes {

/// It follows the module's rules: a pin covers whole GPU pages, is mapped from its beginning, once,
/// and belongs to the process that opened the file. Calls: "open /dev/gdrdrv", "GET_VERSION",
/// "GET_ATTR", "PIN_BUFFER", "UNPIN_BUFFER", "GET_INFO", "GET_INFO_V2", "mmap", "munmap", "close".
class FakeGdrdrv : public FakeKernel {
public:
  /// The properties of the machine. Change them before a backend is opened.
  struct Settings {
    bool loaded = true;
    std::uint32_t version = gdrdrv::version_of(2, 5);
    std::uint32_t oldest_interface = gdrdrv::version_of(2, 0);
    bool persistent = false;
    /// The type of mappings; none: they are revoked at once.
    gdrdrv::MappingType mapping_type = gdrdrv::MappingType::write_combined;
  };

  /// The driver must be emulated, and a context must be current on the thread of each call.
  explicit FakeGdrdrv(const Driver& driver) : driver_(driver) {}

  Settings settings;

  std::size_t num_pins() const;
  /// Device memory pinned now.
  std::size_t pinned_bytes() const;
  /// Does what the module does when CUDA frees pinned memory: the mappings vanish, the pins stay.
  void take_back_all();

private:
  struct Pin {
    int descriptor = -1;
    std::uint64_t address = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t offset =
        0;  ///< of the address asked for in its GPU page: such a pin can't be mapped
    bool taken_back = false;
  };

  int on_open(const std::string& path, int descriptor) override;
  std::string name_of(unsigned long request, const void* argument) const override;
  int on_control(int descriptor, unsigned long request, void* argument) override;
  int on_map(int descriptor, off_t offset, std::size_t size_bytes, Pages& pages) override;
  void on_close(int descriptor) override;

  int pin(int descriptor, gdrdrv::PinBuffer& request);
  int unpin(const gdrdrv::UnpinBuffer& request);
  template <typename Info>
  int describe(Info& info) const;
  gdrdrv::MappingType type_of(std::uint64_t handle, const Pin& pin) const;
  bool is_device_memory(std::uint64_t address, std::uint64_t size_bytes) const;

  Driver driver_;
  pid_t process_ = 0;
  std::uint64_t next_handle_ = 0;
  std::map<std::uint64_t, Pin> pins_;
};

}  // namespace isthmus::window::fakes
