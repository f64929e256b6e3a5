#include "capture/recorder/settings.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace orrery::capture {
namespace {

constexpr std::int64_t kBytesPerMegabyte = 1'000'000;

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

const char* ProcessEnvironment(const char* name) {
  return std::getenv(name);
}

std::int64_t NumberFrom(Environment environment, const char* name, std::int64_t otherwise) {
  const char* const text = environment(name);
  if (text == nullptr) {
    return otherwise;
  }
  const std::string_view digits(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  return error == std::errc() && end == digits.end() && !digits.empty() ? number : otherwise;
}

RecorderSettings SettingsFrom(Environment environment) {
  RecorderSettings settings;
  if (const char* const path = environment("ORRERY_CAPTURE_OUT")) {
    settings.path = path;
  }
  const std::int64_t limit = NumberFrom(environment, "ORRERY_CAPTURE_LIMIT_MB", 0);
  settings.limit_bytes = limit > 0 ? static_cast<std::uint64_t>(limit * kBytesPerMegabyte) : 0;
  const char* const host = environment("ORRERY_CAPTURE_HOST");
  settings.host = host != nullptr ? host : HostName();
  return settings;
}

}  // namespace orrery::capture
