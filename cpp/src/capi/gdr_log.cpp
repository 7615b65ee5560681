#include "capi/gdr_log.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "driver/environment.hpp"

namespace isthmus::capi {
namespace {

// Read once, at the first message, as GDRCopy does.
struct LogSettings {
  bool enabled = environment("GDRCOPY_ENABLE_LOGGING").has_value();
  std::optional<std::string> level_text = environment("GDRCOPY_LOG_LEVEL");
  // Text that is no number counts as 0, which prints everything: GDRCopy's atoi does the same.
  long lowest_level = level_text ? std::strtol(level_text->c_str(), nullptr, 10)
                                 : static_cast<long>(GdrMessage::error);
};

const char* prefix_of(GdrMessage level) {
  switch (level) {
    case GdrMessage::debug:
      return "DBG:  ";
    case GdrMessage::info:
      return "INFO: ";
    case GdrMessage::warning:
      return "WARN: ";
    case GdrMessage::error:
      return "ERR:  ";
  }
  return "";
}

}  // namespace

void gdr_log(GdrMessage level, std::string_view text) noexcept {
  static const LogSettings settings;
  if (!settings.enabled || static_cast<long>(level) < settings.lowest_level) return;
  // One call, so that lines from several threads don't mix.
  std::fprintf(stderr, "%s%.*s\n", prefix_of(level), static_cast<int>(text.size()), text.data());
}

}  // namespace isthmus::capi
