#include "gym/app/stop.h"

#include <csignal>

namespace msc::gym {
namespace {

// A signal handler may only write such a variable.
volatile std::sig_atomic_t stop_requested = 0;  // NOLINT: written by the handler alone

void OnSignal(int /*number*/) {
  stop_requested = 1;
}

}  // namespace

void CatchStopSignals() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second signal has its default effect
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool StopRequested() {
  return stop_requested != 0;
}

}  // namespace msc::gym
