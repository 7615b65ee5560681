// The settings of a ring that ring_details varies.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "options.hpp"
#include "slot_stores.hpp"
#include "transfer/staging/staging_ring.hpp"

using isthmus::transfer::RingSettings;

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

inline const Options kDefaults{{"threads", {"8", "10", "12", "15"}},
                               {"slot_mib", {"8", "16"}},
                               {"slots", {"4"}},
                               {"up_slot_mib", {"8"}},
                               {"paused_slot_mib", {"4"}},
                               {"part_kib", {"256"}},
                               {"min_part_kib", {"64"}},
                               {"filler_kib", {"2048"}},
                               {"marks", {"flags"}},
                               {"first_kib", {"512"}},
                               {"up_pieces", {"4"}},
                               {"down_pieces", {"8"}},
                               {"growth", {"200"}},
                               {"long_up_growth", {"135"}},
                               {"long_down_growth", {"150"}},
                               {"stores", {"best"}},
                               {"few_slots_mib", {"128"}},
                               {"sleeping_mib", {"64"}},
                               {"streamed_kib", {"32768"}},
                               {"huge_kib", {"4096"}},
                               {"size_kib", {"1024", "4096", "16384", "65536", "1048576"}},
                               {"directions", {"h2d", "d2h"}},
                               {"rounds", {"7"}},
                               {"conditions", {"warm", "pause", "cold", "fresh"}}};

inline void vary_marks(std::vector<RingSettings>& all, const std::vector<std::string>& marks) {
  std::vector<RingSettings> varied;
  for (const RingSettings& one : all) {
    for (const std::string& mark : marks) {
      if (mark != "flags" && mark != "events") throw std::invalid_argument("unknown marks " + mark);
      varied.emplace_back(one).marks_by_events = mark == "events";
    }
  }
  all = std::move(varied);
}

inline void vary_stores(std::vector<RingSettings>& all, const std::vector<std::string>& names) {
  std::vector<RingSettings> varied;
  for (const RingSettings& one : all) {
    for (const std::string& name : names) varied.emplace_back(one).stores = stores_of(name);
  }
  all = std::move(varied);
}

/// Every valid combination of the options' values.
inline std::vector<RingSettings> settings_of(const Options& options) {
  std::vector<RingSettings> all{RingSettings{}};
  const auto vary = [&](const std::string& name, const auto& set) {
    std::vector<RingSettings> varied;
    for (const RingSettings& one : all) {
      for (const std::size_t value : numbers(options, name)) set(varied.emplace_back(one), value);
    }
    all = std::move(varied);
  };
  vary("threads", [](auto& one, std::size_t n) { one.num_threads = static_cast<int>(n); });
  vary("slot_mib", [](auto& one, std::size_t n) { one.slot_bytes = n * kMiB; });
  vary("slots", [](auto& one, std::size_t n) { one.num_slots = static_cast<int>(n); });
  vary("up_slot_mib", [](auto& one, std::size_t n) { one.upload_slot_bytes = n * kMiB; });
  vary("paused_slot_mib",
       [](auto& one, std::size_t n) { one.paused_upload_slot_bytes = n * kMiB; });
  vary("part_kib", [](auto& one, std::size_t n) { one.max_part_bytes = n * kKiB; });
  vary("min_part_kib", [](auto& one, std::size_t n) {
    one.min_part_bytes = std::min(n * kKiB, one.max_part_bytes);
  });
  vary("filler_kib", [](auto& one, std::size_t n) { one.filler_bytes = n * kKiB; });
  vary("first_kib", [](auto& one, std::size_t n) { one.first_bytes = n * kKiB; });
  vary("streamed_kib", [](auto& one, std::size_t n) { one.min_streamed_bytes = n * kKiB; });
  vary("huge_kib", [](auto& one, std::size_t n) { one.min_huge_bytes = n * kKiB; });
  vary("up_pieces", [](auto& one, std::size_t n) { one.upload_pieces = static_cast<int>(n); });
  vary("down_pieces", [](auto& one, std::size_t n) { one.download_pieces = static_cast<int>(n); });
  vary("growth", [](auto& one, std::size_t n) { one.growth = static_cast<double>(n) / 100; });
  vary("long_up_growth",
       [](auto& one, std::size_t n) { one.long_upload_growth = static_cast<double>(n) / 100; });
  vary("long_down_growth",
       [](auto& one, std::size_t n) { one.long_download_growth = static_cast<double>(n) / 100; });
  vary("few_slots_mib", [](auto& one, std::size_t n) { one.min_few_slots_bytes = n * kMiB; });
  vary("sleeping_mib", [](auto& one, std::size_t n) { one.min_sleeping_bytes = n * kMiB; });
  vary_marks(all, options.at("marks"));
  vary_stores(all, options.at("stores"));
  std::erase_if(all, [](const auto& one) { return one.first_bytes > one.slot_bytes; });
  return all;
}
