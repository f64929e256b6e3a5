#include "orrery/overlap/stamped_kernel.h"

#include <charconv>
#include <cmath>

namespace orrery::overlap {
namespace {

constexpr double kRoundBytes = 32;   // a thread reads sixteen bytes and writes as many
constexpr double kSectorBytes = 32;  // what one load at a random place brings

std::string_view ValueOf(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find(' '));
}

double NumberOf(std::string_view text, std::string_view key) {
  const std::string_view value = ValueOf(text, key);
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

}  // namespace

std::optional<StampedKernel> ParseStampedKernel(std::string_view text) {
  if (!text.starts_with("stamped ")) {
    return std::nullopt;
  }
  const double threads = NumberOf(text, " blocks=") * NumberOf(text, " threads=");
  const double work = NumberOf(text, " work=");
  const std::string_view kind = ValueOf(text, " kind=");
  if (kind == "moves") {
    return StampedKernel{"stamped moves", 0,
                         threads * std::floor(work / kRoundBytes) * kRoundBytes};
  }
  if (kind == "computes") {
    return StampedKernel{"stamped computes", 2 * threads * work, 0};
  }
  return StampedKernel{"stamped waits", 0, threads * work * kSectorBytes};
}

}  // namespace orrery::overlap
