#include "api/release.hpp"

#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

void forget_handles(const Context& context) {
  const auto of_context = [&](const auto& object) { return object.context == &context; };
  EmulatedMachine& state = machine();
  std::erase_if(state.captures, [&](const auto& each) { return of_context(*each.stream); });
  state.functions.remove_if([&](const Function& each) { return of_context(*each.module); });
  state.modules.remove_if(of_context);
  state.executable_graphs.remove_if(of_context);
  state.arrays.remove_if(of_context);
  state.events.remove_if(of_context);
  state.streams.remove_if(of_context);
}

}  // namespace

void release_everything(Lock& lock, Context& context) {
  context.closing = true;
  drain(lock, context);
  context.closing = false;
  if (context.num_retained > 0) return;  // it was retained again meanwhile
  forget_handles(context);
  context.thread_streams.clear();
  context.peers = {};
  const std::vector<Range> ranges = machine().addresses.remove_all_of(context);
  for (const Range& range : ranges) give_back_block(lock, range);
  lock.unlock();
  for (const Range& range : ranges) unmap(range);
}

}  // namespace isthmus::emulator
