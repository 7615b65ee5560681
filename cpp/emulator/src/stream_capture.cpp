// cuThreadExchangeStreamCaptureMode: remembered, though no stream is ever captured here.
#include "call.hpp"
#include "machine.hpp"

namespace isthmus::emulator {
namespace {

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return Call("cuThreadExchangeStreamCaptureMode")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(mode != nullptr && *mode >= CU_STREAM_CAPTURE_MODE_GLOBAL &&
            *mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    std::swap(*mode, capture_mode);
    return CUDA_SUCCESS;
  });
}
