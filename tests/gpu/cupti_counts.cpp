// Counts the driver's copies as CUPTI sees them, whoever makes them. The driver loads it (CUDA_INJECTION64_PATH) and calls
// InitializeInjection(); at the end of the process ISTHMUS_CUPTI_COUNTS gets a line "NAME CALLS" for each function.
#include <cuda.h>
#include <cupti.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr CUpti_CallbackId kMostFunctions = 4096;
std::atomic<long> calls[kMostFunctions];
const char* names[kMostFunctions];
pid_t owner = 0;

void CUPTIAPI count(void*, CUpti_CallbackDomain, CUpti_CallbackId function, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER && function < kMostFunctions) ++calls[function];
}

void write_counts() {
  const char* folder = std::getenv("ISTHMUS_CUPTI_COUNTS");
  if (folder == nullptr || getpid() != owner) return;
  const std::string path = std::string(folder) + "/" + std::to_string(owner) + ".cupti";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return;
  for (CUpti_CallbackId i = 0; i < kMostFunctions; ++i)
    if (calls[i] > 0) std::fprintf(file, "%s %ld\n", names[i], calls[i].load());
  std::fclose(file);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  CUpti_SubscriberHandle subscriber;
  if (cuptiSubscribe(&subscriber, count, nullptr) != CUPTI_SUCCESS) return 0;
  for (CUpti_CallbackId i = 1; i < kMostFunctions; ++i) {
    const bool is_known =
        cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, i, &names[i]) == CUPTI_SUCCESS;
    if (is_known && names[i] != nullptr && std::strncmp(names[i], "cuMemcpy", 8) == 0)
      cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, i);
  }
  owner = getpid();
  std::atexit(write_counts);
  return 1;
}
