// Bursts of C++ copies, one for each line on standard input, to compare in turns with the copies of
// a program in another language.
#include <iostream>
#include <string>

#include "tables.hpp"

namespace {

constexpr std::size_t kNumCalls = 2000;

}  // namespace

void answer_calls(Arena& arena, std::size_t size_bytes) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line != name_of(Way::to_device) && line != name_of(Way::to_host))
      throw std::invalid_argument("'" + line + "' is neither h2d nor d2h");
    const Way way = line == name_of(Way::to_device) ? Way::to_device : Way::to_host;
    const Task copy = arena.ours(way, Host::pageable, size_bytes);
    std::cout << seconds_of(copy, kNumCalls) << std::endl;
  }
}
