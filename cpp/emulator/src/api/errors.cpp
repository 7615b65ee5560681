// cuGetErrorName and cuGetErrorString.
#include <algorithm>
#include <array>

#include "api/call.hpp"

namespace isthmus::emulator {
namespace {

struct ErrorText {
  CUresult code = CUDA_SUCCESS;
  const char* name = nullptr;
  const char* text = nullptr;
};

constexpr auto kErrors = std::to_array<ErrorText>({
#define ISTHMUS_CUDA_ERROR(code, text) {code, #code, text},
#include "api/errors.inc"
#undef ISTHMUS_CUDA_ERROR
});

ErrorText describe(CUresult code) {
  const auto found = std::ranges::find(kErrors, code, &ErrorText::code);
  return found != kErrors.end() ? *found : ErrorText{};
}

CUresult answer(const char** target, const char* text) {
  require(target != nullptr);
  *target = text;
  return text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuGetErrorName(CUresult code, const char** name) {
  return Call("cuGetErrorName")([&] { return answer(name, describe(code).name); });
}

CUresult CUDAAPI cuGetErrorString(CUresult code, const char** text) {
  return Call("cuGetErrorString")([&] { return answer(text, describe(code).text); });
}

}  // extern "C"
