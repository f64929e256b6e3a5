#pragma once

#include <utility>

#include "orrery/api/call.h"
#include "orrery/base/concurrency/stop.h"
#include "orrery/base/error.h"

namespace orrery::api {

/// Runs the body of a verb so that the flag of the call ends it. Cancelled work fails; work that
/// was stopped by a flag of somebody above passes the exception on to them.
template <typename Body>
auto RunCancellable(const CallOptions& call, Body&& body) -> decltype(body()) {
  if (call.stop == nullptr) {
    return std::forward<Body>(body)();
  }
  const StopScope scope(call.stop);
  try {
    return std::forward<Body>(body)();
  } catch (const Stopped&) {
    return Fail(Error::Kind::kLimit, "the call was cancelled");
  }
}

}  // namespace orrery::api
