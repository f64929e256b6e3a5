#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/space.h"

using orrery::Result;
using orrery::search::Space;

// The first byte says what the rest is: a job with a section `search`, or metrics of a store.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 4 == 1) {
    (void)orrery::search::DecodeBounds(text);
  } else if (data[0] % 4 == 2) {
    (void)orrery::search::DecodeSimulatedPlan(text);
  } else if (data[0] % 4 == 3) {
    (void)orrery::search::DecodeBoundedPlans(text);
  } else if (const Result<Space> space =
                 Space::Of({.text = {.yaml = text, .place = "fuzz", .folder = "/nonexistent"}})) {
    constexpr orrery::search::PlanId kMostIds = 64;
    Space::Walk walk(*space, 0, kMostIds);
    while (walk.Next()) {
      (void)space->SettingsOf(walk.id());
    }
  }
  return 0;
}
