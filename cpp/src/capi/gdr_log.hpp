// Messages of libgdrapi, controlled by GDRCOPY_ENABLE_LOGGING and GDRCOPY_LOG_LEVEL.
#pragma once

#include <string_view>

namespace isthmus::capi {

/// By severity, with GDRCopy's numbers.
enum class GdrMessage { debug = 1, info = 2, warning = 3, error = 4 };

/// Writes one line to stderr if the user wants messages of that level. Never throws.
void gdr_log(GdrMessage level, std::string_view text) noexcept;

}  // namespace isthmus::capi
