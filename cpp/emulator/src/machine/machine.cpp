#include "machine/machine.hpp"

namespace isthmus::emulator {

EmulatedMachine::EmulatedMachine() : active_profile(&all_profiles().front()) {
  for (std::size_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    Context& context = devices[ordinal].context;
    context.ordinal = static_cast<int>(ordinal);
    context.default_stream = std::make_shared<Stream>();
    context.default_stream->context = &context;
  }
}

EmulatedMachine& machine() {
  static auto& machine = *new EmulatedMachine;
  return machine;
}

}  // namespace isthmus::emulator
