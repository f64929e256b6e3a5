#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/error.h"

namespace orrery::serve {

/// What follows "?" in an address, decoded.
class Query {
 public:
  Query() = default;

  explicit Query(std::map<std::string, std::string, std::less<>> values)
      : values_(std::move(values)) {}

  /// Reads "a=1&b=x%20y". Fails for broken escapes, names without value, repeated names, and more
  /// than 16 of them.
  [[nodiscard]] static Result<Query> Parse(std::string_view text);

  /// A whole number; nothing where it is missing.
  [[nodiscard]] Result<std::optional<std::int64_t>> Number(std::string_view name) const;

  /// Empty where it is missing. Fails for more than 1,000 bytes and for text that is not UTF-8.
  [[nodiscard]] Result<std::string> Text(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// A request that has passed the gate.
struct Request {
  std::string path;  // behind the token: "", "view.js", "api/slices"
  bool is_post = false;
  Query query = {};
  std::string body = {};
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  int max_age_s = 0;  // the browser may keep it so long; 0: not at all
};

/// Answers requests, from several threads at once. An exception becomes status 500.
class Handler {
 public:
  virtual ~Handler() = default;
  [[nodiscard]] virtual Response Answer(const Request& request) = 0;
};

}  // namespace orrery::serve
