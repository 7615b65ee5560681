// A thread that copies by every path and compares every byte.
#pragma once

#include <deque>
#include <memory>

#include "workplace.hpp"

namespace isthmus::stress {

/// Owns device memory, a stream, and a file. Used by one thread.
class Copier {
public:
  Copier(Workplace& place, std::uint64_t seed);
  ~Copier();
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  /// One random operation.
  void step();

private:
  void there_and_back();
  void begin_and_drop();
  void copy_a_file();
  void use_a_window();
  void use_pinned_memory();
  void trim();

  bool copy(void* target, const void* source, std::size_t size_bytes);
  CopyOptions some_options();
  void compare(const std::uint8_t* found, const Bytes& wanted, const char* what);
  std::uint8_t* host(std::size_t size_bytes);
  void* device(std::size_t offset_bytes = 0) const;
  CUstream stream() const { return stream_.handle(); }
  void synchronize() const;

  Workplace& place_;
  Dice dice_;
  DeviceBuffer device_;
  Stream stream_;
  Bytes ordinary_;
  std::uint8_t* mapped_ = nullptr;
  int file_ = -1;
  Bytes in_file_;
  std::deque<Bytes> victims_;
};

}  // namespace isthmus::stress
