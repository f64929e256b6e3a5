#include "orrery/learn/random.h"

#include <xxhash.h>

#include "orrery/base/check.h"

namespace orrery::learn {

std::uint64_t HashText(std::string_view text, std::uint64_t seed) {
  return XXH64(text.data(), text.size(), seed);
}

double UnitInterval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

std::uint64_t Random::Next() {
  state_ += 0x9e3779b97f4a7c15;
  return MixBits(state_);
}

std::size_t Random::Below(std::size_t limit) {
  ORRERY_CHECK(limit > 0, "there is no number below 0");
  return Next() % limit;
}

}  // namespace orrery::learn
