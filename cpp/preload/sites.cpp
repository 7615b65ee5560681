#include "preload/sites.hpp"

#include <dlfcn.h>
#include <string.h>

#include "preload/binding.hpp"
#include "preload/texts.hpp"

namespace isthmus::preload {
namespace {

struct UnwindContext;
using InstructionOf = uintptr_t (*)(UnwindContext*);
using Step = int (*)(UnwindContext*, void*);
using Backtrace = int (*)(Step, void*);

/// libgcc_s is there in every program with C++ in it; others have no native sites.
struct Unwinder {
  Backtrace backtrace;
  InstructionOf instruction_of;
};
Unwinder find_unwinder() {
  const Dlsym find = real_dlsym();
  return {reinterpret_cast<Backtrace>(find(RTLD_DEFAULT, "_Unwind_Backtrace")),
          reinterpret_cast<InstructionOf>(find(RTLD_DEFAULT, "_Unwind_GetIP"))};
}

const char* name_of(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool is_cudas(const Dl_info& info) {
  Dl_info own{};
  dladdr(reinterpret_cast<void*>(&native_site), &own);
  if (info.dli_fbase == own.dli_fbase) return true;
  const char* const name = name_of(info.dli_fname);
  constexpr const char* libraries[] = {"libcuda.so", "libcudart.so", "libcudart-",
                                       "libisthmus_emulator"};
  for (const char* library : libraries)
    if (strncmp(name, library, strlen(library)) == 0) return true;
  return false;
}

struct Walk {
  InstructionOf instruction_of;
  uintptr_t found;
  int steps;
};
constexpr int kGoOn = 0;  // _URC_NO_REASON
constexpr int kStop = 4;  // _URC_NORMAL_STOP
constexpr int kMostSteps = 32;

int look(UnwindContext* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const uintptr_t instruction = walk.instruction_of(context);
  Dl_info info{};
  if (++walk.steps > kMostSteps || instruction == 0) return kStop;
  if (dladdr(reinterpret_cast<void*>(instruction), &info) == 0 || is_cudas(info)) return kGoOn;
  walk.found = instruction;
  return kStop;
}

void write_place(SiteRow& row, uintptr_t instruction) {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(instruction), &info);
  copy_text(row.place, name_of(info.dli_fname == nullptr ? "?" : info.dli_fname));
  append_text(row.place, "+0x");
  append_number(row.place, instruction - reinterpret_cast<uintptr_t>(info.dli_fbase), 16);
  if (info.dli_sname == nullptr) return;
  append_text(row.place, " ");
  append_text(row.place, info.dli_sname);
}

}  // namespace

u32 native_site() {
  const Unwinder unwinder = find_unwinder();
  if (unwinder.backtrace == nullptr || unwinder.instruction_of == nullptr) {
    dlerror();  // the program must not take it for its own
    return 0;
  }
  Walk walk{unwinder.instruction_of, 0, 0};
  unwinder.backtrace(look, &walk);
  if (walk.found == 0) return 0;
  const SitePlace place = site_place(walk.found * 0x9e3779b97f4a7c15u);
  if (!place.is_new) return place.number;
  write_place(*place.row, walk.found);
  __atomic_store_n(&place.row->ready, 1, __ATOMIC_RELEASE);
  return place.number;
}

}  // namespace isthmus::preload
