// A client of NVIDIA's resource manager, as CUDA itself has one. Needs no privilege: only
// /dev/nvidiactl and /dev/nvidiaN, which every CUDA program opens.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "window/backends/device_files.hpp"
#include "window/backends/rm_abi.hpp"
#include "window/host_pages.hpp"

namespace isthmus::window::rm {

/// A GPU's handles in the resource manager.
struct Gpu {
  Handle device = 0;
  Handle subdevice = 0;
  std::string file;  ///< "/dev/nvidia0"
};

/// What the resource manager says about a memory object.
struct MemoryFacts {
  std::uint64_t size_bytes = 0;
  AddressSpace address_space = AddressSpace::other;
};

/// A mapping of device memory, as the resource manager and the kernel hold it.
struct MappedMemory {
  int descriptor = -1;
  std::uint64_t address = 0;  ///< how the resource manager identifies the mapping
  void* data = nullptr;
  std::size_t size_bytes = 0;
};

/// May be used from any thread. In a forked child every member does nothing or throws.
///
/// Throws      (all members) Unavailable; its reason names the call and its error.
class Client {
public:
  explicit Client(std::shared_ptr<const DeviceFiles> files);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// The kernel driver's version: "580.159.04".
  const std::string& driver_version() const noexcept { return driver_version_; }

  /// pci_address   "0000:01:00.0"
  Gpu gpu(const std::string& pci_address);

  /// Takes a second reference to a memory object of this process. Released by free().
  Handle duplicate(const Gpu& gpu, Handle source_client, Handle source_object);
  /// The same for a descriptor from cuMemExportToShareableHandle.
  Handle import(const Gpu& gpu, int descriptor);
  void free(const Gpu& gpu, Handle object) noexcept;
  /// memory      an object of this client
  MemoryFacts facts_of(Handle memory) const;

  /// Maps part of a memory object.
  ///
  /// offset_bytes, size_bytes   whole host pages
  /// where                      null, or reserved host pages
  MappedMemory map(const Gpu& gpu, Handle memory, std::uint64_t offset_bytes,
                   std::size_t size_bytes, void* where);
  /// How much of the GPU's BAR1 is free, in MiB: "129 of 256 MiB of BAR1 are free".
  std::string bar1_text(const Gpu& gpu) const;
  /// Releases a mapping of map(); the caller has already unmapped `mapped.data`.
  void unmap(const Gpu& gpu, Handle memory, const MappedMemory& mapped) noexcept;

private:
  int open_file(const std::string& path) const;
  void close_file(int descriptor) const noexcept;
  void register_with_control(int descriptor, const std::string& path) const;
  int call(Escape escape, void* argument, std::size_t argument_bytes) const;
  void control(Handle object, Command command, void* parameters, std::size_t parameters_bytes,
               const char* name) const;
  Handle alloc(Handle parent, Class object_class, void* parameters, std::size_t parameters_bytes,
               const char* name);
  std::string query_version() const;
  CardInfo card(const std::string& pci_address) const;
  Gpu attach(const std::string& pci_address);

  std::shared_ptr<const DeviceFiles> files_;
  std::uint64_t process_;
  int control_descriptor_ = -1;
  Handle root_ = 0;
  std::string driver_version_;
  std::mutex mutex_;
  std::atomic<Handle> next_handle_{0x15700001};
  std::map<std::string, Gpu> gpus_;
};

/// "insufficient resources (status 0x1a)" for statuses that users may see, else the number.
std::string status_text(Status status);

/// This client's reference to one memory object; freed with this.
class OwnedObject {
public:
  OwnedObject(std::shared_ptr<Client> client, Gpu gpu, Handle handle)
      : client_(std::move(client)), gpu_(std::move(gpu)), handle_(handle) {}
  ~OwnedObject() { client_->free(gpu_, handle_); }
  OwnedObject(const OwnedObject&) = delete;
  OwnedObject& operator=(const OwnedObject&) = delete;

  MemoryFacts facts() const { return client_->facts_of(handle_); }
  Client& client() const noexcept { return *client_; }
  const Gpu& gpu() const noexcept { return gpu_; }
  Handle handle() const noexcept { return handle_; }

private:
  std::shared_ptr<Client> client_;
  Gpu gpu_;
  Handle handle_;
};

/// Pages of a memory object, mapped for the CPU; unmapped with this, which the object outlives.
class MappedObject {
public:
  /// The parameters are those of Client::map().
  ///
  /// Throws      Unavailable; its reason names the call and its error.
  MappedObject(const OwnedObject& object, std::uint64_t offset_bytes, std::size_t size_bytes,
               void* where)
      : object_(object),
        mapped_(
            object.client().map(object.gpu(), object.handle(), offset_bytes, size_bytes, where)),
        pages_(mapped_.data, mapped_.size_bytes) {}
  ~MappedObject() {
    pages_.release();
    object_.client().unmap(object_.gpu(), object_.handle(), mapped_);
  }
  MappedObject(const MappedObject&) = delete;
  MappedObject& operator=(const MappedObject&) = delete;

  std::byte* data() const noexcept { return static_cast<std::byte*>(mapped_.data); }
  std::size_t size_bytes() const noexcept { return mapped_.size_bytes; }

private:
  const OwnedObject& object_;
  MappedMemory mapped_;
  MappedHostPages pages_;
};

}  // namespace isthmus::window::rm
