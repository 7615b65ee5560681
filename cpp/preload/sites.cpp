#include "preload/sites.hpp"

#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

#include "preload/binding.hpp"
#include "preload/texts.hpp"

namespace isthmus::preload {
namespace {

bool is_cudas(const Dl_info& info) {
  Dl_info own{};
  dladdr(reinterpret_cast<void*>(&native_site), &own);
  if (info.dli_fbase == own.dli_fbase) return true;
  const char* const name = file_name(info.dli_fname);
  constexpr const char* libraries[] = {"libcuda.so", "libcudart.so", "libcudart-",
                                       "libisthmus_emulator"};
  for (const char* library : libraries)
    if (strncmp(name, library, strlen(library)) == 0) return true;
  return false;
}

struct Walk {
  decltype(&_Unwind_GetIP) instruction_of;
  uintptr_t found;
  int steps;
};

_Unwind_Reason_Code look(_Unwind_Context* context, void* data) {
  constexpr int most_steps = 32;
  auto& walk = *static_cast<Walk*>(data);
  const uintptr_t instruction = walk.instruction_of(context);
  Dl_info info{};
  if (++walk.steps > most_steps || instruction == 0) return _URC_NORMAL_STOP;
  if (dladdr(reinterpret_cast<void*>(instruction), &info) == 0 || is_cudas(info))
    return _URC_NO_REASON;
  walk.found = instruction;
  return _URC_NORMAL_STOP;
}

void write_place(SiteRow& row, uintptr_t instruction) {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(instruction), &info);
  copy_text(row.place, file_name(info.dli_fname == nullptr ? "?" : info.dli_fname));
  append_text(row.place, "+0x");
  append_number(row.place, instruction - reinterpret_cast<uintptr_t>(info.dli_fbase), 16);
  if (info.dli_sname == nullptr) return;
  append_text(row.place, " ");
  append_text(row.place, info.dli_sname);
}

}  // namespace

u32 native_site() {
  // Every program with C++ in it has libgcc_s; others have no native sites.
  const Dlsym find = real_dlsym();
  const auto backtrace =
      reinterpret_cast<decltype(&_Unwind_Backtrace)>(find(RTLD_DEFAULT, "_Unwind_Backtrace"));
  Walk walk{reinterpret_cast<decltype(&_Unwind_GetIP)>(find(RTLD_DEFAULT, "_Unwind_GetIP")), 0, 0};
  if (backtrace == nullptr || walk.instruction_of == nullptr) {
    dlerror();  // the program must not take it for its own
    return 0;
  }
  backtrace(look, &walk);
  if (walk.found == 0) return 0;
  const SitePlace place = site_place(walk.found * 0x9e3779b97f4a7c15u);
  if (!place.is_new) return place.number;
  write_place(*place.row, walk.found);
  __atomic_store_n(&place.row->ready, 1, __ATOMIC_RELEASE);
  return place.number;
}

}  // namespace isthmus::preload
