// The memory of a workload, laid out like GPGPU-Sim's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trace/trace.hpp"
#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

/// Allocates consecutive addresses, and zeroed host memory for them: at most 16 GiB, in arrays of
/// fewer than 2^32 elements.
///
/// Source      GPGPU-Sim, abstract_hardware_model.cc, gpgpu_t::gpu_malloc: from 0xC0000000,
///             256-byte aligned, nothing is ever reused.
class Heap {
public:
  static constexpr std::uint64_t kFirstAddress = 0xC0000000;
  static constexpr std::uint64_t kAlignmentBytes = 256;
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 30U;

  /// Throws      UsageError if it is more than that
  template <class T>
  Array<T> allocate(const std::string& name, std::uint64_t num_elements) {
    check_elements(name, num_elements);
    const Piece piece = allocate_bytes(name, num_elements * sizeof(T));
    return {reinterpret_cast<T*>(piece.memory), piece.address, num_elements};
  }

  /// The allocations, by address.
  const std::vector<trace::Allocation>& allocations() const { return allocations_; }
  /// The bytes that allocations have together, with gaps, from kFirstAddress on.
  std::uint64_t size_bytes() const { return next_address_ - kFirstAddress; }
  /// Copies bytes of one allocation.
  ///
  /// Throws      UsageError if they don't lie in one
  void read(std::uint64_t address, std::span<std::byte> target) const;

private:
  struct Piece {
    std::byte* memory;
    std::uint64_t address;
  };
  struct Release {
    void operator()(std::byte* memory) const;
  };

  static void check_elements(const std::string& name, std::uint64_t num_elements);
  Piece allocate_bytes(const std::string& name, std::uint64_t size_bytes);

  std::uint64_t next_address_ = kFirstAddress;
  std::vector<trace::Allocation> allocations_;
  std::vector<std::unique_ptr<std::byte, Release>> memory_;
};

}  // namespace isthmus::workloads
