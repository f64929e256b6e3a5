#include "orrery/compat/ccl_bench/peer_to_peer.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/model_family.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/outcome.h"
#include "orrery/base/interval_set.h"
#include "orrery/trace/tables.h"

namespace orrery::compat::ccl_bench {

using analyze::CardParallelSize;

namespace {

using trace::Trace;

bool IsNvlinkSent(std::string_view name) {
  return name.starts_with("NVLink TX Responses User Data");
}

bool IsPcieSent(std::string_view name) {
  return name.starts_with("PCIe TX");
}

bool IsModelStart(std::string_view name) {
  return HasWord(name, {"model.model"});
}

bool IsModelEnd(std::string_view name) {
  return HasWord(name, {"logits_processor"});
}

// From where the model begins to where its logits are processed.
IntervalSet ModelWindows(const Trace& trace) {
  NameMemo is_start(trace, &IsModelStart);
  NameMemo is_end(trace, &IsModelEnd);
  IntervalSet windows;
  std::optional<std::int64_t> begin_ns;
  for (RowId row = 0; row < trace.annotations.size(); ++row) {
    const std::int64_t at_ns = trace.annotations.begin_ns[row];
    if (is_end(trace.annotations.name[row])) {
      windows.Append(begin_ns.value_or(at_ns), at_ns);
      begin_ns.reset();
    } else if (is_start(trace.annotations.name[row]) && !begin_ns) {
      begin_ns = at_ns;
    }
  }
  return windows;
}

void AddSamples(const Trace& trace, NameTest is_counter, std::vector<double>& percents) {
  const IntervalSet windows = ModelWindows(trace);
  NameMemo is_wanted(trace, is_counter);
  for (RowId row = 0; row < trace.counters.size(); ++row) {
    const std::int64_t at_ns = trace.counters.begin_ns[row];
    if (trace.counters.value[row] != 0 && is_wanted(trace.counters.name[row]) &&
        windows.LengthWithin(at_ns, at_ns + 1) > 0) {
      percents.push_back(trace.counters.value[row]);
    }
  }
}

}  // namespace

CompatResult PeerToPeerBandwidth(const CompatRun& run) {
  const auto family = FamilyOfGroup6(run);
  if (SourceOf(run) != Source::kNsys || !family || CardParallelSize(*run.set, "pp") <= 1) {
    return NotANumber();
  }
  std::vector<double> percents;
  for (const Trace& trace : run.set->ranks) {
    AddSamples(trace, IsPcieFamily(*family) ? &IsPcieSent : &IsNvlinkSent, percents);
  }
  return NumberOrNaN(PlainMean(percents));
}

}  // namespace orrery::compat::ccl_bench
