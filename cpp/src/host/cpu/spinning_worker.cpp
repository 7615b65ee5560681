#include "host/cpu/spinning_worker.hpp"

#include <utility>

#include <pthread.h>

#include "host/cpu/cpu_list.hpp"
#include "host/cpu/signal_block.hpp"

namespace isthmus::host {

std::thread start_thread(const char* name, const std::vector<int>& cpus,
                         std::function<void()> run) {
  const ScopedSignalBlock block;  // the new thread inherits it
  return std::thread([name, cpus, run = std::move(run)] {
    pthread_setname_np(pthread_self(), name);
    if (!cpus.empty()) allow_cpus(cpus);
    run();
  });
}

}  // namespace isthmus::host
