#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/string_table.h"
#include "orrery/base/value.h"
#include "orrery/draw/format.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::serve {
namespace {

constexpr std::size_t kMostPoints = 1'000;
constexpr std::size_t kMostRanks = 8;
constexpr std::size_t kMostOwners = 40;

/// What a GPU's allocator held over time.
struct HeldMemory {
  std::vector<std::int64_t> at_ns;
  std::vector<std::int64_t> bytes;
  std::int64_t peak_bytes = 0;
  std::size_t peak_event = 0;  // MemoryEvents
};

HeldMemory HeldBy(const trace::Trace& trace) {
  HeldMemory held;
  std::int64_t sum_bytes = 0;
  for (std::size_t event = 0; event < trace.memory_events.size(); ++event) {
    if (trace.memory_events.device_kind[event] != trace::DeviceKind::kGpu) {
      continue;
    }
    sum_bytes += trace.memory_events.bytes[event];
    const std::int64_t total_bytes = trace.memory_events.total_allocated_bytes[event];
    const std::int64_t bytes = total_bytes >= 0 ? total_bytes : sum_bytes;
    held.at_ns.push_back(trace.memory_events.begin_ns[event]);
    held.bytes.push_back(bytes);
    if (bytes > held.peak_bytes) {
      held.peak_bytes = bytes;
      held.peak_event = event;
    }
  }
  return held;
}

// Of each part of the events the most.
Value SeriesOf(const ViewedRun& run, const HeldMemory& held, std::string name) {
  Value x = Value::List();
  Value y = Value::List();
  const std::size_t step = held.at_ns.size() / kMostPoints + 1;
  for (std::size_t first = 0; first < held.at_ns.size(); first += step) {
    const auto begin = held.bytes.begin() + static_cast<std::ptrdiff_t>(first);
    const auto most = std::max_element(
        begin, begin + static_cast<std::ptrdiff_t>(std::min(step, held.bytes.size() - first)));
    const auto place = static_cast<std::size_t>(most - held.bytes.begin());
    x.Add(held.at_ns[place] - run.begin_ns());
    y.Add(*most);
  }
  return Value::Object().Set("name", std::move(name)).Set("x", std::move(x)).Set("y", std::move(y));
}

struct Owner {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
};

// What was allocated until the peak and not freed, by name; what is older has no event.
Value OwnersTable(const trace::Trace& trace, const HeldMemory& held) {
  struct Allocation {
    StringId name = StringId::kEmpty;
    std::int64_t bytes = 0;
  };

  std::unordered_map<std::uint64_t, Allocation> alive;
  for (std::size_t event = 0; event <= held.peak_event; ++event) {
    if (trace.memory_events.device_kind[event] != trace::DeviceKind::kGpu) {
      continue;
    }
    const std::uint64_t address = trace.memory_events.address[event];
    if (trace.memory_events.bytes[event] > 0) {
      alive[address] = {trace.memory_events.name[event], trace.memory_events.bytes[event]};
    } else {
      alive.erase(address);
    }
  }
  std::map<std::string_view, Owner> owners;
  std::int64_t known_bytes = 0;
  for (const auto& [address, allocation] : alive) {
    Owner& owner = owners[trace.Text(allocation.name)];
    owner.bytes += allocation.bytes;
    ++owner.count;
    known_bytes += allocation.bytes;
  }
  if (held.peak_bytes > known_bytes) {
    owners["allocated before the recording"].bytes = held.peak_bytes - known_bytes;
  }
  std::vector<std::pair<std::string_view, Owner>> sorted(owners.begin(), owners.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto& item) { return item.second.bytes; });
  sorted.resize(std::min(sorted.size(), kMostOwners));
  Value rows = Value::List();
  Value keys = Value::List();
  for (const auto& [name, owner] : sorted) {
    rows.Add(Value::List()
                 .Add(name.empty() ? std::string_view("without a name") : name)
                 .Add(owner.count == 0 ? "–" : draw::FormatCount(owner.count))
                 .Add(draw::FormatBinaryBytes({owner.bytes})));
    keys.Add(Value::List().Add(Value()).Add(owner.count).Add(owner.bytes));
  }
  const auto column = [](const char* name, const char* align) {
    return Value::Object().Set("name", name).Set("align", align).Set("unit", "");
  };
  return Value::Object()
      .Set("heading", "What holds memory at the peak")
      .Set("caption", "")
      .Set("columns", Value::List()
                          .Add(column("allocated by", "left"))
                          .Add(column("allocations", "right"))
                          .Add(column("bytes", "right")))
      .Set("rows", std::move(rows))
      .Set("keys", std::move(keys));
}

}  // namespace

void AddRecordedMemory(const ViewedRun& run, Value& sections) {
  if (run.simulated() != nullptr) {
    return;
  }
  Value series = Value::List();
  Value tables = Value::List();
  HeldMemory fullest;
  std::size_t fullest_trace = 0;
  for (std::size_t place = 0; place < run.set().ranks.size(); ++place) {
    HeldMemory held = HeldBy(run.set().ranks[place]);
    if (held.at_ns.empty()) {
      continue;
    }
    if (series.items().size() < kMostRanks) {
      series.Add(SeriesOf(run, held, fmt::format("rank {}", trace::RankOf(run.set(), place))));
    }
    if (held.peak_bytes > fullest.peak_bytes) {
      fullest = std::move(held);
      fullest_trace = place;
    }
  }
  if (fullest.peak_bytes == 0) {
    return;
  }
  tables.Add(OwnersTable(run.set().ranks[fullest_trace], fullest));
  sections.Add(Value::Object()
                   .Set("heading", "Memory of the framework's allocator")
                   .Set("sentences",
                        Value::List().Add(fmt::format("The peak is {} on rank {}.",
                                                      draw::FormatBinaryBytes({fullest.peak_bytes}),
                                                      trace::RankOf(run.set(), fullest_trace))))
                   .Set("points", Value::Object()
                                      .Set("x_unit", "ns")
                                      .Set("y_unit", "bytes")
                                      .Set("x_log", false)
                                      .Set("is_line", true)
                                      .Set("series", std::move(series)))
                   .Set("tables", std::move(tables)));
}

}  // namespace orrery::serve
