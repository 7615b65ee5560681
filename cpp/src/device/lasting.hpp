// What may still be in use by a device that no longer answers.
#pragma once

#include <memory>

namespace isthmus {

/// Notes an object that will never be destroyed, so that leak checkers know of it. From any thread.
void note_lasting(const void* object) noexcept;

/// Keeps an object until the process ends; it is never destroyed. From any thread.
template <typename Object>
void keep_until_process_ends(std::unique_ptr<Object> object) noexcept {
  note_lasting(object.release());
}

}  // namespace isthmus
