#include "trace/accelsim_operations.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "trace/text_reader.hpp"

namespace isthmus::trace {
namespace {

// Shared and local memory each are a window of this size in the generic address space; local
// addresses are offsets into it. Source: NVBit's nvbit_get_shmem_base_addr and
// nvbit_get_local_mem_base_addr.
constexpr std::uint64_t kWindowBytes = std::uint64_t{16} << 20U;
constexpr std::uint64_t kWordBytes = 4;
constexpr std::uint64_t kLastWord = kWindowBytes / kWordBytes - 1;

bool in_window(std::uint64_t address, std::uint64_t base) {
  return address >= base && address - base < kWindowBytes;
}

OpKind global_kind(OpcodeClass kind) {
  switch (kind) {
    case OpcodeClass::global_store:
    case OpcodeClass::generic_store:
      return OpKind::store;
    case OpcodeClass::global_atomic:
    case OpcodeClass::generic_atomic:
      return OpKind::atomic;
    default:
      return OpKind::load;
  }
}

OpKind local_kind(OpcodeClass kind) {
  const bool stores = kind == OpcodeClass::local_store || kind == OpcodeClass::generic_store;
  return stores ? OpKind::local_store : OpKind::local_load;
}

bool has_traced_addresses(OpcodeClass kind) {
  switch (kind) {
    case OpcodeClass::global_load:
    case OpcodeClass::global_store:
    case OpcodeClass::global_atomic:
    case OpcodeClass::generic_load:
    case OpcodeClass::generic_store:
    case OpcodeClass::generic_atomic:
    case OpcodeClass::local_load:
    case OpcodeClass::local_store:
    case OpcodeClass::copy_to_shared:
      return true;
    default:
      return false;
  }
}

}  // namespace

template <std::size_t N>
void AccelSimOperations::Distinct<N>::add(std::uint64_t value) {
  // Newest first: neighbouring lanes access the same line.
  for (std::size_t i = count; i > 0; --i) {
    if (values[i - 1] == value) return;
  }
  values[count++] = value;
}

void AccelSimOperations::add(const Instruction& instruction, BlockBuilder& block) {
  ++counts_.instructions;
  counts_.thread_instructions += static_cast<std::uint64_t>(std::popcount(instruction.mask));
  if (instruction.kind == OpcodeClass::barrier && instruction.mask != 0) {
    return emit(OpKind::barrier, {}, block);
  }
  if (!has_traced_addresses(instruction.kind)) {
    count_untraced(instruction);
    return pass_instruction();
  }
  if (instruction.mask != 0 && instruction.num_addresses == 0) {
    throw UsageError("'" + shown(instruction.opcode) + "' has no addresses");
  }
  add_access(instruction, block);
}

void AccelSimOperations::add_access(const Instruction& instruction, BlockBuilder& block) {
  lines_.count = words_.count = 0;
  if (instruction.has_unplaced_addresses) ++counts_.unplaced_lanes;
  gather_all(instruction);
  if (lines_.count == 0 && words_.count == 0) return pass_instruction();
  if (lines_.count > 0) {
    ++counts_.memory_operations;
    count_load(instruction);
    for (const std::uint64_t line : lines_.all()) touched_.add(line);
    emit(global_kind(instruction.kind), lines_.all(), block);
  }
  // A warp's word of local memory is always one line: each word is an operation.
  for (const std::uint64_t word : words_.all()) {
    ++counts_.local_operations;
    emit(local_kind(instruction.kind), {&word, 1}, block);
  }
}

void AccelSimOperations::gather_all(const Instruction& instruction) {
  using Gather = void (AccelSimOperations::*)(std::uint64_t, std::uint32_t);
  Gather gather_one = &AccelSimOperations::gather;
  switch (instruction.kind) {
    case OpcodeClass::local_load:
    case OpcodeClass::local_store:
      gather_one = &AccelSimOperations::gather_local;
      break;
    case OpcodeClass::generic_load:
    case OpcodeClass::generic_store:
    case OpcodeClass::generic_atomic:
      gather_one = &AccelSimOperations::gather_generic;
      if (header_.shared_base == 0 || header_.local_base == 0) ++counts_.unplaced_generic;
      break;
    case OpcodeClass::copy_to_shared:
      gather_one = &AccelSimOperations::gather_copy;
      break;
    default:
      break;
  }
  const std::uint32_t size_bytes = lane_bytes(instruction.opcode);
  for (std::uint32_t lane = 0; lane < instruction.num_addresses; ++lane) {
    (this->*gather_one)(instruction.addresses[lane], size_bytes);
  }
  if (instruction.kind != OpcodeClass::copy_to_shared || instruction.mask == 0) return;
  ++(lines_.count > 0 ? counts_.copies_to_shared : counts_.half_copies);
}

void AccelSimOperations::gather(std::uint64_t address, std::uint32_t size_bytes) {
  if (address >= kAddressesEnd - size_bytes) {
    throw UsageError("address " + std::to_string(address) + " lies beyond the 57 bits of a GPU's");
  }
  const std::uint64_t last = (address + size_bytes - 1) / kLineBytes;
  for (std::uint64_t line = address / kLineBytes; line <= last; ++line) lines_.add(line);
}

void AccelSimOperations::gather_local(std::uint64_t address, std::uint32_t size_bytes) {
  const std::uint64_t offset = in_window(address, header_.local_base) && header_.local_base != 0
                                   ? address - header_.local_base
                                   : address;
  if (offset > kWindowBytes - size_bytes) {
    throw UsageError("address " + std::to_string(address) + " lies outside of local memory");
  }
  // The stack starts at the window's end and grows down; the first access shows whether this is so.
  // Words are counted from its start, so that a small stack has small numbers.
  if (!stack_from_top_) stack_from_top_ = offset >= kWindowBytes / 2;
  const std::uint64_t first = offset / kWordBytes;
  const std::uint64_t last = (offset + size_bytes - 1) / kWordBytes;
  for (std::uint64_t i = first; i <= last; ++i) {
    const std::uint64_t word = *stack_from_top_ ? kLastWord - i : i;
    const auto bytes = static_cast<std::uint32_t>((word + 1) * kWordBytes);
    local_bytes_per_thread_ = std::max(local_bytes_per_thread_, bytes);
    words_.add(word);
  }
}

void AccelSimOperations::gather_generic(std::uint64_t address, std::uint32_t size_bytes) {
  // An unknown base is 0 here; no global address is that small.
  if (in_window(address, header_.shared_base)) return;
  if (in_window(address, header_.local_base)) return gather_local(address, size_bytes);
  gather(address, size_bytes);
}

void AccelSimOperations::gather_copy(std::uint64_t address, std::uint32_t size_bytes) {
  // An offset into shared memory, or its generic address.
  if (in_window(address, 0) || in_window(address, header_.shared_base)) return;
  gather(address, size_bytes);
}

void AccelSimOperations::count_load(const Instruction& instruction) {
  if (global_kind(instruction.kind) != OpKind::load) return;
  ++counts_.global_loads;
  const auto* const end = instruction.addresses.begin() + instruction.num_addresses;
  const bool zero =
      std::all_of(instruction.addresses.begin(), end, [](std::uint64_t a) { return a == 0; });
  if (zero) ++counts_.zero_loads;
}

void AccelSimOperations::count_untraced(const Instruction& instruction) {
  if (instruction.mask == 0) return;
  if (instruction.kind == OpcodeClass::texture) ++counts_.texture_accesses;
  if (instruction.kind == OpcodeClass::constant) ++counts_.constant_accesses;
  if (instruction.kind == OpcodeClass::bulk_copy) ++counts_.bulk_copies;
  const bool unknown = instruction.kind == OpcodeClass::compute && instruction.num_addresses > 0;
  if (unknown) ++counts_.unknown_accesses;
}

void AccelSimOperations::emit(OpKind kind, std::span<const std::uint64_t> lines,
                              BlockBuilder& block) {
  block.add(kind, compute_, lines);
  compute_ = 0;
}

void AccelSimOperations::pass_instruction() {
  if (compute_ == std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError("a warp has 2^32 instructions without an access to memory");
  }
  ++compute_;
}

void AccelSimOperations::end_warp(BlockBuilder& block) {
  block.end_warp(compute_);
  compute_ = 0;
}

}  // namespace isthmus::trace
