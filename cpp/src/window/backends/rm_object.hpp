// A memory object of the resource manager: our reference to it, and a CPU mapping of part of it.
#pragma once

#include <memory>
#include <utility>

#include "window/backends/rm_client.hpp"
#include "window/host_pages.hpp"

namespace isthmus::window::rm {

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
