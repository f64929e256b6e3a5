#include "orrery/base/concurrency/stop.h"

#include <atomic>
#include <utility>

namespace orrery {
namespace {

thread_local const std::atomic<bool>* current = nullptr;

}  // namespace

StopScope::StopScope(const std::atomic<bool>* flag) : before_(std::exchange(current, flag)) {}

StopScope::~StopScope() {
  current = before_;
}

const std::atomic<bool>* StopScope::flag() {
  return current;
}

}  // namespace orrery
