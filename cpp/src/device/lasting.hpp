// Objects that a device may still use although it no longer answers.
#pragma once

#include <memory>

namespace isthmus {

/// Registers an object that is never destroyed, for leak checkers. May be called from any thread.
void note_lasting(const void* object) noexcept;

/// Keeps an object until the process ends; it is never destroyed. May be called from any thread.
template <typename Object>
void keep_until_process_ends(std::unique_ptr<Object> object) noexcept {
  note_lasting(object.release());
}

}  // namespace isthmus
