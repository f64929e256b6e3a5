#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <tl/expected.hpp>

namespace orrery {

/// Why something from outside could not be used. The message is one sentence for the user; callers
/// that know more about the place put it in front with `Within`.
class [[nodiscard]] Error {
 public:
  enum class Kind {
    kInvalidInput,  // the bytes are not what they should be
    kNotFound,      // no such file, rank, column, GPU …
    kUnsupported,   // we know what it is and cannot use it
    kLimit,         // a limit of ours stopped the work; the message says how to raise it
    kSystem,        // the operating system refused
  };

  Error(Kind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  [[nodiscard]] Kind kind() const { return kind_; }

  [[nodiscard]] const std::string& message() const { return message_; }

  /// Returns the same error with `place` in front: "run.json: byte 12: …".
  [[nodiscard]] Error Within(std::string_view place) const {
    return {kind_, std::string(place) + ": " + message_};
  }

 private:
  Kind kind_;
  std::string message_;
};

/// A value or the reason there is none. The one alias to change when the project moves to C++23
/// and std::expected.
template <typename T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

/// Makes the failed form of any Result.
[[nodiscard]] inline tl::unexpected<Error> Fail(Error::Kind kind, std::string message) {
  return tl::unexpected(Error(kind, std::move(message)));
}

/// The same for input that is not what it should be.
[[nodiscard]] inline tl::unexpected<Error> Invalid(std::string message) {
  return Fail(Error::Kind::kInvalidInput, std::move(message));
}

/// The same with a message that is formatted as fmt::format does.
template <typename First, typename... Rest>
[[nodiscard]] tl::unexpected<Error> Invalid(fmt::format_string<First, Rest...> text, First&& first,
                                            Rest&&... rest) {
  return Invalid(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...));
}

/// Passes an error on with the place it happened in.
template <typename T>
[[nodiscard]] tl::unexpected<Error> FailWithin(std::string_view place, const Result<T>& failed) {
  return tl::unexpected(failed.error().Within(place));
}

}  // namespace orrery

#define ORRERY_CONCAT_INNER(a, b) a##b
#define ORRERY_CONCAT(a, b) ORRERY_CONCAT_INNER(a, b)

/// Declares `target` with the value of `expression`, or returns its error from the enclosing
/// function. The target must not contain a comma.
#define ORRERY_TRY(target, expression)                                                \
  auto ORRERY_CONCAT(orrery_try_, __LINE__) = (expression);                           \
  if (!ORRERY_CONCAT(orrery_try_, __LINE__)) {                                        \
    return ::tl::unexpected(std::move(ORRERY_CONCAT(orrery_try_, __LINE__)).error()); \
  }                                                                                   \
  target = *std::move(ORRERY_CONCAT(orrery_try_, __LINE__))

/// Returns the error of a Status, if it has one.
#define ORRERY_TRY_STATUS(expression)                                \
  do {                                                               \
    auto orrery_try_status = (expression);                           \
    if (!orrery_try_status) {                                        \
      return ::tl::unexpected(std::move(orrery_try_status).error()); \
    }                                                                \
  } while (false)
