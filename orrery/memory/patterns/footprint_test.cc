#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/patterns/pattern_search.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/tables.h"

namespace orrery::memory::patterns {
namespace {

/// The peak over all orders, with `bytes` fewer from `begin` up to `end`.
std::int64_t SlowPeak(const trace::MemoryObjects& objects, std::int64_t last_order,
                      std::int64_t bytes, std::int64_t begin, std::int64_t end) {
  std::int64_t peak = 0;
  for (std::int64_t order = 0; order <= last_order; ++order) {
    std::int64_t total = begin <= order && order < end ? -bytes : 0;
    for (RowId row = 0; row < objects.size(); ++row) {
      const std::int64_t death = objects.death_order[row];
      total += objects.birth_order[row] <= order && (death < 0 || order < death)
                   ? objects.bytes[row]
                   : 0;
    }
    peak = std::max(peak, total);
  }
  return peak;
}

TestRecording RandomRecording() {
  TestRecording recording;
  std::vector<RowId> alive;
  const auto actions = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4));
  for (const int action : actions) {
    if (action < 2) {
      alive.push_back(recording.Born(0x1000 * (alive.size() + 1), *rc::gen::inRange(1, 100)));
    } else if (action == 2) {
      recording.Launched("kernel");
    } else if (!alive.empty()) {
      const auto which = *rc::gen::inRange<std::size_t>(0, alive.size());
      recording.Died(alive[which]);
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  return recording;
}

// For any part of any lifetime, the tables of maxima give the same as counting again.
RC_GTEST_PROP(FootprintTest, SavingsAreThoseOfCountingAnew, ()) {
  const TestRecording recording = RandomRecording();
  const trace::MemoryObjects& objects = recording.trace.memory_objects;
  RC_PRE(!objects.empty());
  const RecordedWork work(recording.trace);
  const ObjectUses uses(work);
  const Footprint footprint(uses, -1);
  const auto object = *rc::gen::inRange<RowId>(0, static_cast<RowId>(objects.size()));
  const std::int64_t last = recording.order() + 1;
  const std::int64_t death = objects.death_order[object] < 0 ? last : objects.death_order[object];
  const auto begin = *rc::gen::inRange(objects.birth_order[object], death + 1);
  const auto end = *rc::gen::inRange(begin, death + 1);

  const std::int64_t peak = SlowPeak(objects, last, 0, 0, 0);
  const std::int64_t changed = SlowPeak(objects, last, objects.bytes[object], begin, end);

  RC_ASSERT(footprint.peak_bytes() == peak);
  RC_ASSERT(footprint.Saved(objects.bytes[object], begin, end) == peak - changed);
}

}  // namespace
}  // namespace orrery::memory::patterns
