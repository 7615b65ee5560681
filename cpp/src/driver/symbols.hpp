// symbols.inc as typed constants: symbol::mem_alloc knows its name, its signature and its slot.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <cudaTypedefs.h>

namespace isthmus {

enum class Requirement { required, optional };

/// One driver function: what to ask cuGetProcAddress for, and its slot in the Driver's table.
template <typename Function>
struct Symbol {
  std::string_view name;
  std::size_t slot;
};

/// A symbol without its signature, for the loader.
struct SymbolRow {
  const char* name;
  int abi;
  std::string_view since;
  Requirement requirement;
};

inline constexpr std::array kSymbolRows{
#define ISTHMUS_DRIVER_SYMBOL(member, symbol, abi, since, requirement) \
  SymbolRow{#symbol, abi, since, Requirement::requirement},
#include "driver/symbols.inc"
#undef ISTHMUS_DRIVER_SYMBOL
};

inline constexpr std::size_t kNumSymbols = kSymbolRows.size();

namespace symbol {

enum Slot : std::size_t {
#define ISTHMUS_DRIVER_SYMBOL(member, symbol, abi, since, requirement) slot_##member,
#include "driver/symbols.inc"
#undef ISTHMUS_DRIVER_SYMBOL
};

#define ISTHMUS_DRIVER_SYMBOL(member, symbol, abi, since, requirement) \
  inline constexpr Symbol<PFN_##symbol##_v##abi> member{#symbol, slot_##member};
#include "driver/symbols.inc"
#undef ISTHMUS_DRIVER_SYMBOL

}  // namespace symbol
}  // namespace isthmus
