// /dev/nvidiactl and /dev/nvidiaN: behaves like NVIDIA's resource manager, with the emulated
// driver's memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver/driver.hpp"
#include "fake_kernel.hpp"
#include "window/backends/rm_abi.hpp"

namespace isthmus::window::fakes {

/// Statuses it answers. Source: nvstatuscodes.h of NVIDIA's open GPU kernel modules.
enum RmStatus : std::uint32_t {
  kDuplicateName = 0x19,
  kInsufficientResources = 0x1a,
  kInsufficientPermissions = 0x1b,
  kInvalidArgument = 0x1f,
  kInvalidClass = 0x22,
  kInvalidClient = 0x23,
  kInvalidCommand = 0x24,
  kInvalidDevice = 0x26,
  kInvalidLimit = 0x2e,
  kInvalidObjectHandle = 0x33,
  kInvalidObjectParent = 0x36,
  kInvalidParameterStruct = 0x3a,
  kNotSupported = 0x56,
  kObjectNotFound = 0x57,
  kStateInUse = 0x63,
};

/// Strict: incorrect use gets the error that the real one returns, and a complaint. Calls: "open
/// /dev/nvidiactl", "open /dev/nvidia7", "CHECK_VERSION", "CARD_INFO", "REGISTER_FD", "ALLOC root",
/// "ALLOC device", "ALLOC subdevice", "CONTROL GPU_GET_ID_INFO", "CONTROL IMPORT_OBJECTS", "CONTROL
/// FB_GET_INFO", "CONTROL GET_SURFACE_INFO", "DUP_OBJECT", "MAP_MEMORY", "UNMAP_MEMORY", "FREE",
/// "mmap", "close", "process_vm_readv".
class FakeResourceManager : public FakeKernel {
public:
  struct Settings {
    std::string version = "580.159.04";
    std::uint32_t bar1_mib = 256;
    /// False: a container that has /dev/nvidiactl but not this process's GPUs.
    bool lists_gpus = true;
  };

  /// The driver must be emulated. Minor numbers and instances descend where CUDA's ordinals ascend,
  /// so that mixing them up is detected.
  explicit FakeResourceManager(const Driver& driver);

  Settings settings;

  /// "/dev/nvidia7", for a CUDA device.
  std::string file_of(int ordinal) const;

  std::size_t num_clients() const;
  /// Objects of all clients, including the clients, devices and subdevices.
  std::size_t num_objects() const;
  /// Only references to memory.
  std::size_t num_memory_objects() const;
  /// Mappings by MAP_MEMORY that UNMAP_MEMORY or FREE has not removed.
  std::size_t num_rm_mappings() const;

private:
  struct Card {
    int ordinal = 0;
    std::uint32_t bus = 0;
    std::uint32_t domain = 0;
    std::uint32_t gpu_id = 0;
    std::uint32_t minor_number = 0;
    std::uint32_t instance = 0;
  };
  struct Object {
    rm::Class object_class = rm::Class::root;  ///< unused for memory: see is_memory
    bool is_memory = false;
    rm::Handle parent = 0;
    const Card* card = nullptr;
    int file = -1;  ///< for memory; owned
    std::uint64_t size_bytes = 0;
  };
  struct Client {
    int control_descriptor = -1;
    std::map<rm::Handle, Object> objects;
  };
  struct DeviceFile {
    const Card* card = nullptr;
    int control_descriptor = -1;        ///< -1 until it is registered
    std::uint64_t pending_address = 0;  ///< of the mapping for the next mmap
  };
  struct RmMapping {
    rm::Handle client = 0;
    rm::Handle device = 0;
    rm::Handle memory = 0;
    int descriptor = -1;
    off_t offset = 0;
    std::uint64_t length = 0;
  };

  int on_open(const std::string& path, int descriptor) override;
  std::string name_of(unsigned long request, const void* argument) const override;
  int on_control(int descriptor, unsigned long request, void* argument) override;
  void answer_status(unsigned long request, void* argument, std::uint32_t status) override;
  int on_map(int descriptor, off_t offset, std::size_t size_bytes, Pages& pages) override;
  void on_close(int descriptor) override;

  int on_control_file(int descriptor, unsigned long request, void* argument);
  int list_cards(unsigned long request, void* argument);
  int register_descriptor(int descriptor, const rm::RegisterDescriptor& argument);
  int check_version(rm::CheckVersion& argument);
  std::uint32_t alloc(int descriptor, rm::Alloc& request);
  std::uint32_t alloc_root(int descriptor, rm::Alloc& request);
  std::uint32_t alloc_device(Client& client, rm::Alloc& request);
  std::uint32_t alloc_subdevice(Client& client, rm::Alloc& request);
  std::uint32_t add(Client& client, rm::Handle& handle, Object object);
  std::uint32_t control(int descriptor, const rm::Control& request);
  std::uint32_t id_info(const rm::Control& request);
  std::uint32_t fb_info(const rm::Control& request, const Client& client);
  std::uint32_t surface_info(const rm::Control& request, const Client& client);
  std::uint32_t import(const rm::Control& request, Client& client);
  std::uint32_t dup(int descriptor, rm::DupObject& request);
  std::uint32_t map_memory(int descriptor, rm::MapMemory& request);
  std::uint32_t unmap_memory(int descriptor, const rm::UnmapMemory& request);
  std::uint32_t free(int descriptor, const rm::Free& request);

  std::uint32_t misuse(std::uint32_t status, const std::string& what);
  Client* client_of(int descriptor, rm::Handle root);
  const Object* device_of(const Client& client, rm::Handle handle) const;
  std::uint64_t free_bar1_bytes() const;
  void drop(Client& client, rm::Handle handle);
  const Card* card_with(std::uint32_t gpu_id) const;

  std::vector<Card> cards_;
  std::map<rm::Handle, Client> clients_;
  std::map<int, DeviceFile> device_files_;
  std::map<std::uint64_t, RmMapping> mappings_;
  rm::Handle next_root_ = 0xc1d00100;
  rm::Handle next_object_ = 0xcaf00001;
  std::uint64_t next_address_ = 0xf000000000;
  int (*object_file_)(unsigned, std::size_t*) = nullptr;
};

}  // namespace isthmus::window::fakes
