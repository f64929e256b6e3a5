#pragma once

#include <memory>

#include "orrery/api/export.h"

namespace orrery::api {

struct SessionState;

/// State that verbs load once and share: cost models, and the estimates that they made. Pass the
/// same session to every call; calls of several threads may share one.
///
/// Nothing is loaded before a verb needs it.
class ORRERY_API Session {
 public:
  Session();
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// For the sources of this module.
  [[nodiscard]] SessionState& state() const { return *state_; }

 private:
  std::unique_ptr<SessionState> state_;
};

}  // namespace orrery::api
