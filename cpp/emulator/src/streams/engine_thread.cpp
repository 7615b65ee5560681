#include "streams/engine_thread.hpp"

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sys/prctl.h>

namespace isthmus::emulator {
namespace {

constexpr unsigned long kTimerSlackNs = 1;  // the default of 50 us would blur every deadline

}  // namespace

bool start_engine_thread(const char* name, std::function<void()> life) {
  sigset_t every_signal;
  sigset_t callers_signals;
  sigfillset(&every_signal);
  pthread_sigmask(SIG_SETMASK, &every_signal, &callers_signals);
  bool started = true;
  try {
    std::thread([name, life = std::move(life)] {
      prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
      pthread_setname_np(pthread_self(), name);
      life();
    }).detach();
  } catch (const std::exception&) {  // of the system, or no memory
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &callers_signals, nullptr);
  return started;
}

}  // namespace isthmus::emulator
