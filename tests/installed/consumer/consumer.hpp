// What the parts of the consumer share. It declares the driver's functions itself: nobody needs
// CUDA's headers to use Isthmus.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <isthmus/driver.hpp>

namespace consumer {

using Bytes = std::vector<unsigned char>;

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("not so: " + what);
}

/// Bytes that tell where they belong, and from which copy they are.
Bytes pattern(std::size_t size_bytes, unsigned seed);

void use_copies(const isthmus::Driver& driver, std::uintptr_t device);
void use_files(const isthmus::Driver& driver, std::uintptr_t device);
void use_pinned_memory(const isthmus::Driver& driver, std::uintptr_t device);
void use_windows(const isthmus::Driver& driver, std::uintptr_t device);
void use_errors(const isthmus::Driver& driver);

inline constexpr std::size_t kDeviceBytes = std::size_t{1} << 20U;

}  // namespace consumer
