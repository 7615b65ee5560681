// LD_AUDIT: the same file, loaded a second time in the auditors' namespace, for what binds past a preload.
//
// The linker calls these only there. They find the functions of the copy in the program's namespace by
// the distance between the two.
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "preload/binding.hpp"
#include "preload/texts.hpp"

#define ISTHMUS_EXPORT extern "C" __attribute__((visibility("default")))

namespace isthmus::preload {
namespace {

link_map* watched = nullptr;  ///< the copy in the program's namespace
intptr_t distance = 0;

}  // namespace

ISTHMUS_EXPORT unsigned la_version(unsigned) { return LAV_CURRENT; }

ISTHMUS_EXPORT unsigned la_objopen(link_map* map, Lmid_t space, uintptr_t* cookie) {
  *cookie = reinterpret_cast<uintptr_t>(map);
  Dl_info info{};
  link_map* own = nullptr;
  const bool is_known = dladdr1(reinterpret_cast<void*>(&la_objopen), &info,
                                reinterpret_cast<void**>(&own), RTLD_DL_LINKMAP) != 0;
  if (is_known && space == LM_ID_BASE && map != own && strcmp(map->l_name, own->l_name) == 0) {
    watched = map;
    distance = static_cast<intptr_t>(map->l_addr) - static_cast<intptr_t>(own->l_addr);
    return LA_FLG_BINDFROM;
  }
  const bool is_driver = strncmp(file_name(map->l_name), "libcuda.so", strlen("libcuda.so")) == 0;
  return is_driver ? LA_FLG_BINDFROM | LA_FLG_BINDTO : LA_FLG_BINDFROM;
}

ISTHMUS_EXPORT uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, uintptr_t* from, uintptr_t* to,
                                      unsigned*, const char* name) {
  const auto* const asking = reinterpret_cast<link_map*>(*from);
  if (watched == nullptr || asking == watched || asking == reinterpret_cast<link_map*>(*to))
    return symbol->st_value;
  Entry* const entry = entry_named(name);
  if (entry == nullptr) return symbol->st_value;
  return reinterpret_cast<uintptr_t>(entry->exported) + static_cast<uintptr_t>(distance);
}

}  // namespace isthmus::preload
