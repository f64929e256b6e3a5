#include "bench/repetition.h"

#include <cstdint>
#include <vector>

#include "bench/random_bits.h"

namespace orrery::bench {

std::vector<Repetition> Repetitions(std::int64_t step_duration_ns, int num_steps,
                                    std::uint64_t seed) {
  std::vector<Repetition> all;
  std::int64_t origin_ns = kTraceBeginNs;
  for (std::int64_t number = 0; number < num_steps; ++number) {
    const std::uint64_t bits = MixBits(seed + static_cast<std::uint64_t>(number) + 1);
    const std::int64_t scale = (1 << 20) + static_cast<std::int64_t>(bits % 65'536);
    all.push_back({number, origin_ns, scale});
    origin_ns = all.back().At(step_duration_ns);
  }
  return all;
}

}  // namespace orrery::bench
