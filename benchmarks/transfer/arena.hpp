// The memory that all copies here use, and the rivals.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <isthmus/transfer.hpp>

#include "device/buffers.hpp"
#include "rounds.hpp"

enum class Way { to_device, to_host };
enum class Host { pageable, pinned };
std::string_view name_of(Way way);
std::string_view name_of(Host host);

/// cudaMemcpy of a CUDA runtime library; without one, the driver's blocking copies, which
/// cudaMemcpy calls.
class Rival {
public:
  /// path        of libcudart, as for dlopen; null: the driver's
  Rival(const isthmus::Driver& driver, const char* path);
  void copy(Way way, std::byte* host, CUdeviceptr device, std::size_t size_bytes) const;
  std::string_view name() const { return memcpy_ == nullptr ? "cuMemcpy" : "cudaMemcpy"; }

private:
  using Memcpy = int (*)(void*, const void*, std::size_t, int);

  isthmus::Driver driver_;
  Memcpy memcpy_ = nullptr;
};

/// A device buffer and host buffers of one size, all touched. The context is current on the thread
/// that created it, as in a program that uses the CUDA runtime.
class Arena {
public:
  explicit Arena(std::size_t max_bytes, const char* cudart_path);

  const isthmus::Driver& driver() const { return driver_; }
  const isthmus::Context& context() const { return context_; }
  isthmus::Transfers& transfers() { return transfers_; }
  const Rival& rival() const { return rival_; }
  CUdeviceptr device() const { return device_.pointer(); }
  std::byte* host(Host kind) const;
  std::size_t max_bytes() const { return max_bytes_; }

  Task ours(Way way, Host kind, std::size_t size_bytes, const isthmus::CopyOptions& options = {});
  Task theirs(Way way, Host kind, std::size_t size_bytes) const;
  /// Overwrites the target by a different copy, runs `copy`, and reads the target back through the
  /// driver.
  ///
  /// Throws      std::runtime_error naming the first byte that is wrong.
  void verify(Way way, Host kind, std::size_t size_bytes, const Task& copy) const;

private:
  std::size_t max_bytes_;
  isthmus::Driver driver_;
  isthmus::Context context_;
  isthmus::CurrentContext current_;
  isthmus::DeviceBuffer device_;
  std::byte* pageable_;
  isthmus::PinnedBuffer pinned_;
  std::vector<std::byte> expected_;
  isthmus::Transfers transfers_;
  Rival rival_;
};
