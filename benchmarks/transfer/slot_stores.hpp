// The names of the ways to fill a slot.
#pragma once

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "transfer/staging/host_copy.hpp"

using isthmus::transfer::SlotStores;

inline constexpr std::pair<const char*, SlotStores> kStores[] = {
    {"best", SlotStores::best},
    {"plain", SlotStores::plain},
    {"fetched", SlotStores::fetched},
    {"streaming", SlotStores::streaming},
    {"demoted", SlotStores::demoted}};

inline SlotStores stores_of(const std::string& name) {
  const auto* const known =
      std::ranges::find(kStores, name, [](const auto& each) { return each.first; });
  if (known == std::end(kStores)) throw std::invalid_argument("unknown stores " + name);
  return known->second;
}

inline std::string name_of(SlotStores stores) {
  return std::ranges::find(kStores, stores, [](const auto& each) { return each.second; })->first;
}
