#include "preload/engine.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/binding.hpp"
#include "preload/counting.hpp"
#include "preload/settings.hpp"

namespace isthmus::preload {
namespace {

enum State : u32 { kUnopened, kOpening, kOpen, kAbsent };
u32 state = kUnopened;
Engine engine;

/// MPS shares a GPU between processes: its server, not this process, owns the context.
bool is_below_mps() {
  const char* const pipe = getenv("CUDA_MPS_PIPE_DIRECTORY");
  return access(pipe != nullptr ? pipe : "/tmp/nvidia-mps", F_OK) == 0;
}

/// False, and a note of the reason, if it can't be used.
bool open_engine() {
  if (is_below_mps()) {
    note_engine("the GPU is shared through MPS: all copies are the driver's", false);
    return false;
  }
  void* const library = dlopen(settings.engine, RTLD_NOW | RTLD_LOCAL);
  const auto get = [&]<typename Function>(Function& function, const char* name) {
    function =
        library == nullptr ? nullptr : reinterpret_cast<Function>(real_dlsym()(library, name));
    return function != nullptr;
  };
  decltype(&isthmus_exec_open) open = nullptr;
  if (!get(open, "isthmus_exec_open") || !get(engine.copy, "isthmus_exec_copy") ||
      !get(engine.pin, "isthmus_exec_pin") || !get(engine.unpin, "isthmus_exec_unpin")) {
    const char* const why = dlerror();
    note_engine(why == nullptr ? "the engine lacks a function" : why, true);
    return false;
  }
  ignore_calls_from(reinterpret_cast<void*>(open));
  isthmus_error error;
  if (open(&error) == ISTHMUS_OK) return true;
  note_engine(error.message, true);
  return false;
}

}  // namespace

/// Other threads' copies are the driver's until then: nobody waits for the linker.
const Engine* opened_engine() {
  u32 expected = kUnopened;
  if (__atomic_compare_exchange_n(&state, &expected, kOpening, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    __atomic_store_n(&state, open_engine() ? kOpen : kAbsent, __ATOMIC_RELEASE);
  return engine_if_open();
}

const Engine* engine_if_open() {
  return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == kOpen ? &engine : nullptr;
}

}  // namespace isthmus::preload
