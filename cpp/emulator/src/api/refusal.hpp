// Errors inside the emulator: thrown as a Refusal, which the exported function turns into a
// CUresult.
#pragma once

#include <exception>

#include "api/cuda_api.hpp"

namespace isthmus::emulator {

struct Refusal : std::exception {
  explicit Refusal(CUresult result) : code(result) {}
  CUresult code;
};

/// Throws CUDA_ERROR_INVALID_VALUE unless `valid`.
inline void require(bool valid, CUresult code = CUDA_ERROR_INVALID_VALUE) {
  if (!valid) throw Refusal{code};
}

}  // namespace isthmus::emulator
