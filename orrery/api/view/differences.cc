#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/diff/diff.h"
#include "orrery/analyze/diff/paired_collectives.h"
#include "orrery/api/errors.h"
#include "orrery/api/view.h"
#include "orrery/api/view/places.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/draw/format.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::api::view {
namespace {

constexpr std::size_t kMostChanges = 200;
constexpr std::size_t kMostPairs = 20'000;

/// The longest slice with a name, to look at.
class LongestByName {
 public:
  LongestByName(const ViewedRun& run, SliceTable table) : run_(run), table_(table) {
    for (std::uint32_t row = 0; row < run.ranks().size(); ++row) {
      const std::uint32_t trace = run.ranks()[row].trace;
      if (seen_.emplace(trace, row).second) {
        Add(row, run.set().ranks[trace]);
      }
    }
  }

  [[nodiscard]] std::optional<SlicePlace> Find(std::string_view name) const {
    const auto found = longest_.find(name);
    return found == longest_.end()
               ? std::nullopt
               : PlaceOf(run_, found->second.rank_row, table_, found->second.row);
  }

 private:
  struct At {
    std::uint32_t rank_row = 0;
    RowId row = kNoRow;
    std::int64_t duration_ns = -1;
  };

  void Add(std::uint32_t rank_row, const trace::Trace& trace) {
    const SliceColumns columns = ColumnsOf(trace, table_);
    std::map<StringId, At> of_name;
    for (RowId row = 0; row < columns.begin_ns.size(); ++row) {
      At& longest = of_name[columns.name[row]];
      if (columns.duration_ns[row] > longest.duration_ns) {
        longest = {rank_row, row, columns.duration_ns[row]};
      }
    }
    for (const auto& [name, at] : of_name) {
      At& longest = longest_[trace.Text(name)];
      if (at.duration_ns > longest.duration_ns) {
        longest = at;
      }
    }
  }

  const ViewedRun& run_;
  SliceTable table_;
  std::map<std::uint32_t, std::uint32_t> seen_;
  std::map<std::string_view, At> longest_;
};

void AddChanges(const std::vector<analyze::diff::CostChange>& changes, std::string_view what,
                const LongestByName& before, const LongestByName& after,
                std::vector<Change>& list) {
  for (std::size_t i = 0; i < std::min(changes.size(), kMostChanges); ++i) {
    const analyze::diff::CostChange& change = changes[i];
    const bool has_device_time = change.before.device_ns > 0 || change.after.device_ns > 0;
    list.push_back({.what = std::string(what),
                    .name = std::string(change.name),
                    .change = std::string(analyze::diff::ChangeName(change.change)),
                    .before_ns = has_device_time ? change.before.device_ns : change.before.host_ns,
                    .after_ns = has_device_time ? change.after.device_ns : change.after.host_ns,
                    .count_before = change.before.count,
                    .count_after = change.after.count,
                    .a = before.Find(change.name),
                    .b = after.Find(change.name)});
  }
}

// The begins of steps with the same place among the steps of both.
std::vector<Both> StepPairs(const ViewedRun& before, const ViewedRun& after) {
  const auto steps_of = [](const ViewedRun& run) {
    std::vector<std::int64_t> begins;
    for (const trace::Trace& trace : run.set().ranks) {
      for (const std::int64_t begin_ns : trace.steps.begin_ns) {
        begins.push_back(begin_ns - run.begin_ns());
      }
      if (!begins.empty()) {
        break;
      }
    }
    return begins;
  };
  const std::vector<std::int64_t> first = steps_of(before);
  const std::vector<std::int64_t> second = steps_of(after);
  std::vector<Both> pairs;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    pairs.push_back({first[i], second[i]});
  }
  return pairs;
}

// Begins of collectives that are in both runs, in order of the first's. Of many, every so-many-th:
// the page looks for the nearest before a time.
std::vector<Both> PairTimes(const ViewedRun& before, const ViewedRun& after,
                            const analyze::diff::PairedCollectives& paired) {
  const std::size_t stride = (paired.pairs.size() + kMostPairs - 1) / kMostPairs;
  std::vector<Both> pairs;
  for (std::size_t i = 0; i < paired.pairs.size(); i += stride) {
    const auto& [a, b] = paired.pairs[i];
    pairs.push_back({paired.before[a].begin_ns - before.begin_ns(),
                     paired.after[b].begin_ns - after.begin_ns()});
  }
  return pairs;
}

// The first kernel of a collective, to look at.
std::optional<SlicePlace> KernelPlace(const ViewedRun& run,
                                      const analyze::diff::TimedCollective& collective) {
  const trace::Trace& trace = run.set().ranks[collective.rank_index];
  const std::int64_t begin_ns = trace.collectives.begin_ns[collective.row];
  const trace::Activities& activities = trace.activities;
  const auto first = std::ranges::lower_bound(activities.begin_ns, begin_ns);
  for (auto row = static_cast<RowId>(first - activities.begin_ns.begin());
       row < activities.size() && activities.begin_ns[row] == begin_ns; ++row) {
    if (activities.collective[row] == collective.row) {
      return PlaceOf(run, run.FirstRowOf(collective.rank_index), SliceTable::kActivities, row);
    }
  }
  return {};
}

std::string NameOf(const analyze::diff::TimedCollective& collective) {
  std::string name(CollectiveKindName(collective.kind));
  if (collective.bytes >= 0) {
    name += fmt::format(", {}", draw::FormatBytes({collective.bytes}));
  }
  if (collective.num_ranks > 0) {
    name += fmt::format(", {} ranks", collective.num_ranks);
  }
  return name;
}

std::vector<CollectiveChange> CollectiveChanges(const ViewedRun& before, const ViewedRun& after,
                                                const analyze::diff::PairedCollectives& paired) {
  std::vector<analyze::diff::CollectivePair> largest = paired.pairs;
  const auto change_ns = [&](const analyze::diff::CollectivePair& pair) {
    const analyze::diff::TimedCollective& a = paired.before[pair.before];
    const analyze::diff::TimedCollective& b = paired.after[pair.after];
    // A later rank must not hide a slower link.
    return std::abs(b.transfer_ns - a.transfer_ns) + std::abs(b.wait_ns - a.wait_ns);
  };
  std::erase_if(largest, [&](const auto& pair) { return change_ns(pair) == 0; });
  std::ranges::stable_sort(largest, std::ranges::greater(), change_ns);
  largest.resize(std::min(largest.size(), kMostChanges));
  std::vector<CollectiveChange> changes;
  for (const analyze::diff::CollectivePair& pair : largest) {
    const analyze::diff::TimedCollective& a = paired.before[pair.before];
    const analyze::diff::TimedCollective& b = paired.after[pair.after];
    changes.push_back({.name = NameOf(a),
                       .step = a.step,
                       .transfer_ns = {a.transfer_ns, b.transfer_ns},
                       .wait_ns = {a.wait_ns, b.wait_ns},
                       .begin_ns = {a.begin_ns - before.begin_ns(), b.begin_ns - after.begin_ns()},
                       .a = KernelPlace(before, a),
                       .b = KernelPlace(after, b)});
  }
  return changes;
}

// From the second run's time to the first's: their first steps begin together, without steps the
// first collectives that are in both.
std::int64_t OffsetNs(const std::vector<Both>& steps, const std::vector<Both>& pairs) {
  const std::vector<Both>& together = steps.empty() ? pairs : steps;
  return together.empty() ? 0 : together.front().first - together.front().second;
}

std::vector<Change> ChangesOf(const ViewedRun& before, const ViewedRun& after) {
  const analyze::diff::RunDiff diff = analyze::diff::Compare(before.view(), after.view(), {});
  std::vector<Change> changes;
  const LongestByName kernels_before(before, SliceTable::kActivities);
  const LongestByName kernels_after(after, SliceTable::kActivities);
  AddChanges(diff.kernel_classes, "kernel class", kernels_before, kernels_after, changes);
  AddChanges(diff.kernels, "kernel", kernels_before, kernels_after, changes);
  AddChanges(diff.collectives, "collective", kernels_before, kernels_after, changes);
  const LongestByName operators_before(before, SliceTable::kHostOps);
  const LongestByName operators_after(after, SliceTable::kHostOps);
  AddChanges(diff.operators, "operator", operators_before, operators_after, changes);
  return changes;
}

}  // namespace

Result<Differences> CompareRuns(const View& view, const DifferencesRequest& request) {
  if (view.state().Runs().size() < 2) {
    return NotFound("there is no second run to compare with");
  }
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> a, view.state().RunAt(request.a));
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> b, view.state().RunAt(request.b));
  const ViewedRun& before = *a;
  const ViewedRun& after = *b;
  const analyze::diff::PairedCollectives paired =
      analyze::diff::PairCollectives(before.view(), after.view());
  Differences differences{.common_collectives = static_cast<std::int64_t>(paired.pairs.size()),
                          .notice = paired.HasNothingInCommon()
                                        ? analyze::diff::NothingInCommonSentence("A", "B")
                                        : std::string(),
                          .pairs = PairTimes(before, after, paired),
                          .collectives = CollectiveChanges(before, after, paired),
                          .step_before_ns = before.StepNs(),
                          .step_after_ns = after.StepNs(),
                          .steps = StepPairs(before, after),
                          .changes = ChangesOf(before, after)};
  differences.offset_ns = OffsetNs(differences.steps, differences.pairs);
  return differences;
}

}  // namespace orrery::api::view
