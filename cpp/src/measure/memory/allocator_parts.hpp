// What allocators share, and the functions that make each. Only for the allocators' own files.
#pragma once

#include <vector>

#include "measure/memory/allocators.hpp"

namespace isthmus::measure {

/// Rows and slices of a shape of at least the given number of bytes, and about that.
struct Extent {
  std::size_t width_bytes = 0;
  std::size_t num_rows = 1;
  std::size_t num_slices = 1;

  std::size_t size_bytes() const noexcept { return width_bytes * num_rows * num_slices; }
};

/// Sides that differ at most by a factor of 4, if `size_bytes` is a power of two; but rows have at
/// least 512 bytes, if there are so many.
Extent near_square(std::size_t size_bytes) noexcept;
Extent near_cube(std::size_t size_bytes) noexcept;

/// Memory that the CPU reaches by a pointer.
class HostAllocator : public Allocator {
public:
  HostAllocator(const Context& context, const AllocationShape& shape)
      : context_(context), shape_(shape), memory_(shape.num_slots, nullptr) {}

  const void* host(std::size_t slot) const override { return memory_[slot]; }
  bool is_there(std::size_t slot) const override { return memory_[slot] != nullptr; }
  void write(std::size_t slot, std::uint32_t word) override;
  bool holds(std::size_t slot, std::uint32_t word) override;
  std::optional<Identity> identity(std::size_t slot) const override;
  bool known(const Identity& identity) const override;

protected:
  const Context& context() const noexcept { return context_; }
  const AllocationShape& shape() const noexcept { return shape_; }
  /// Stores the memory, and touches it if the options say so.
  void keep(std::size_t slot, void* memory) noexcept;
  /// Stores the memory without touching it.
  void set(std::size_t slot, void* memory) noexcept { memory_[slot] = memory; }
  void* take(std::size_t slot) noexcept;
  void touch(void* memory) const noexcept;

private:
  Context context_;
  AllocationShape shape_;
  std::vector<void*> memory_;
};

/// Memory that copies access by a device address.
class DeviceAllocator : public Allocator {
public:
  DeviceAllocator(const Context& context, const AllocationShape& shape)
      : context_(context), shape_(shape), addresses_(shape.num_slots, 0) {}

  bool is_there(std::size_t slot) const override { return addresses_[slot] != 0; }
  void write(std::size_t slot, std::uint32_t word) override;
  bool holds(std::size_t slot, std::uint32_t word) override;
  std::optional<Identity> identity(std::size_t slot) const override;
  bool known(const Identity& identity) const override;

protected:
  const Driver& driver() const noexcept { return context_.driver(); }
  const Context& context() const noexcept { return context_; }
  std::size_t size_bytes() const noexcept { return shape_.size_bytes; }
  void keep(std::size_t slot, CUdeviceptr address) noexcept { addresses_[slot] = address; }
  CUdeviceptr take(std::size_t slot) noexcept;
  /// The stream whose work must be complete before a free.
  virtual CUstream stream() const noexcept { return nullptr; }

private:
  Context context_;
  AllocationShape shape_;
  std::vector<CUdeviceptr> addresses_;
};

std::unique_ptr<Allocator> make_host_allocator(const Context& context,
                                               const AllocationShape& shape);
std::unique_ptr<Allocator> make_device_allocator(const Context& context,
                                                 const AllocationShape& shape);
std::unique_ptr<Allocator> make_array_allocator(const Context& context,
                                                const AllocationShape& shape);
std::unique_ptr<Allocator> make_pool_allocator(const Context& context,
                                               const AllocationShape& shape);
std::unique_ptr<Allocator> make_virtual_allocator(const Context& context,
                                                  const AllocationShape& shape);

}  // namespace isthmus::measure
