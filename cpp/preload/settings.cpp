#include "preload/settings.hpp"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/texts.hpp"

namespace isthmus::preload {

Settings settings;

namespace {

constexpr u64 kUsualSites = 16;

const char* value_of(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}
u64 number_of(const char* name, u64 otherwise) {
  const char* const value = value_of(name);
  char* end = nullptr;
  const u64 number = strtoull(value, &end, 10);
  return end != value && *end == '\0' ? number : otherwise;
}

Exec exec_of(const char* value) {
  if (strcmp(value, "on") == 0) return Exec::on;
  return strcmp(value, "audit") == 0 ? Exec::audit : Exec::off;
}

bool is_left_alone() {
  if (settings.off_path[0] == '\0') return false;
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return strstr(path, settings.off_path) != nullptr;
}

}  // namespace

void read_settings() {
  static bool is_done = false;
  if (is_done) return;
  is_done = true;
  copy_text(settings.folder, value_of("ISTHMUS_WATCH_FOLDER"));
  settings.events = number_of("ISTHMUS_WATCH_EVENTS", 0);
  settings.sites = number_of("ISTHMUS_WATCH_SITES", kUsualSites);
  settings.exec = exec_of(value_of("ISTHMUS_EXEC"));
  copy_text(settings.engine, value_of("ISTHMUS_EXEC_LIBRARY"));
  settings.min_up = number_of("ISTHMUS_EXEC_UP", UINT64_MAX);
  settings.min_down = number_of("ISTHMUS_EXEC_DOWN", UINT64_MAX);
  copy_text(settings.only, value_of("ISTHMUS_EXEC_ONLY"));
  copy_text(settings.off_path, value_of("ISTHMUS_EXEC_OFF"));
  settings.pins = strcmp(value_of("ISTHMUS_EXEC_PIN"), "1") == 0;
  if (is_left_alone()) settings.exec = Exec::off;
}

}  // namespace isthmus::preload
