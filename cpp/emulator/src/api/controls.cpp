// emulator.h: the controls for tests and the loader.
#pragma GCC visibility push(default)
#include "emulator.h"
#pragma GCC visibility pop

#include <cstring>
#include <string>

#include "api/call.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

std::string list_profiles() {
  std::string text;
  for (const Profile& profile : all_profiles()) {
    text.append(profile.name).append("\t").append(profile.summary).append("\n");
  }
  return text;
}

const char* unknown_profile(std::string_view name) {
  static thread_local std::string message;
  message = "unknown profile '" + std::string(name) + "' of the emulated driver: use ";
  std::string_view separator;
  for (const Profile& profile : all_profiles()) {
    message.append(separator).append(profile.name);
    separator = ", ";
  }
  return message.c_str();
}

bool any_context_alive() {
  const Lock lock = lock_machine();
  for (const Device& device : machine().devices) {
    if (device.context.num_retained > 0) return true;
  }
  return false;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

const char* isthmus_emulator_select_profile(const char* name) {
  const Profile* wanted = find_profile(name != nullptr ? name : "");
  if (wanted == nullptr) return unknown_profile(name != nullptr ? name : "");
  if (wanted == &machine().profile()) return nullptr;
  if (any_context_alive()) {
    return "the emulated driver's profile can't change while a context is alive";
  }
  machine().active_profile = wanted;
  machine().initialised = false;
  faults().lose_device_after(wanted->copies_until_lost);
  return nullptr;
}

const char* isthmus_emulator_profile() { return machine().profile().name.data(); }

const char* isthmus_emulator_profiles() {
  static const auto& text = *new std::string(list_profiles());
  return text.c_str();
}

void isthmus_emulator_fail_call(const char* symbol, int nth, int code) {
  faults().fail_call(symbol, nth, static_cast<CUresult>(code));
}

void isthmus_emulator_swallow_calls(const char* symbol) { faults().swallow(symbol); }

void isthmus_emulator_before_call(const char* symbol, int nth, void (*function)(void*),
                                  void* argument) {
  faults().before_call(symbol, nth, function, argument);
}

void isthmus_emulator_hide_symbol(const char* symbol) { faults().hide(symbol); }

void isthmus_emulator_log_calls(int enabled) { call_log().enable(enabled != 0); }

std::size_t isthmus_emulator_call_log(char* buffer, std::size_t capacity) {
  const std::string text = call_log().text();
  if (buffer != nullptr && capacity > 0) {
    const std::size_t length = text.copy(buffer, capacity - 1);
    buffer[length] = '\0';
  }
  return text.size() + 1;
}

IsthmusEmulatorLive isthmus_emulator_live() {
  Lock lock = lock_machine();
  IsthmusEmulatorLive live{};
  for (const Device& device : machine().devices) live.contexts += device.context.num_retained;
  for (const auto& context : machine().created_contexts) live.contexts += context->num_retained;
  live.streams = machine().streams.size();
  live.events = machine().events.size();
  live.modules = machine().modules.size();
  live.device_bytes = machine().addresses.total_bytes(RangeKind::device) +
                      machine().addresses.total_bytes(RangeKind::managed) +
                      machine().objects.created_bytes() + array_bytes(lock);
  live.pinned_bytes = machine().addresses.total_bytes(RangeKind::pinned);
  live.registered_ranges = machine().addresses.count(RangeKind::registered);
  live.graphs = machine().graphs.size() + machine().executable_graphs.size();
  return live;
}

unsigned long long isthmus_emulator_modelled_ns() { return machine().modelled_ns; }

int isthmus_emulator_object_file(unsigned int object, std::size_t* size_bytes) {
  MemoryObjectPtr found;
  {
    const Lock lock = lock_machine();
    found = machine().objects.find(object);
  }
  if (found == nullptr) return -1;
  if (size_bytes != nullptr) *size_bytes = found->size_bytes();
  try {
    return found->open_file(0);
  } catch (const Refusal&) {
    return -1;
  }
}

int isthmus_emulator_reset() {
  call_log().enable(false);
  call_log().clear();
  return static_cast<int>(faults().reset());
}

}  // extern "C"
