#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/diff/diff.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/base/value.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/tiles/slice_tracks.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/trace/trace.h"

namespace orrery::serve {
namespace {

constexpr std::size_t kMostChanges = 200;

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

  [[nodiscard]] Value Find(std::string_view name) const {
    const auto found = longest_.find(name);
    return found == longest_.end()
               ? Value()
               : PlaceValue(run_, found->second.rank_row, table_, found->second.row);
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
                const LongestByName& before, const LongestByName& after, Value& list) {
  for (std::size_t i = 0; i < std::min(changes.size(), kMostChanges); ++i) {
    const analyze::diff::CostChange& change = changes[i];
    const bool has_device_time = change.before.device_ns > 0 || change.after.device_ns > 0;
    list.Add(
        Value::Object()
            .Set("what", what)
            .Set("name", change.name)
            .Set("change", analyze::diff::ChangeName(change.change))
            .Set("before_ns", has_device_time ? change.before.device_ns : change.before.host_ns)
            .Set("after_ns", has_device_time ? change.after.device_ns : change.after.host_ns)
            .Set("count_before", change.before.count)
            .Set("count_after", change.after.count)
            .Set("a", before.Find(change.name))
            .Set("b", after.Find(change.name)));
  }
}

// The begins of steps with the same place among the steps of both.
Value StepPairs(const ViewedRun& before, const ViewedRun& after) {
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
  Value pairs = Value::List();
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    pairs.Add(Value::List().Add(first[i]).Add(second[i]));
  }
  return pairs;
}

}  // namespace

Result<Response> AnswerDifferences(const ViewedRun& before, const ViewedRun& after) {
  const analyze::diff::RunDiff diff = analyze::diff::Compare(before.view(), after.view(), {});
  Value changes = Value::List();
  const LongestByName kernels_before(before, SliceTable::kActivities);
  const LongestByName kernels_after(after, SliceTable::kActivities);
  AddChanges(diff.kernel_classes, "kernel class", kernels_before, kernels_after, changes);
  AddChanges(diff.kernels, "kernel", kernels_before, kernels_after, changes);
  AddChanges(diff.collectives, "collective", kernels_before, kernels_after, changes);
  const LongestByName operators_before(before, SliceTable::kHostOps);
  const LongestByName operators_after(after, SliceTable::kHostOps);
  AddChanges(diff.operators, "operator", operators_before, operators_after, changes);
  Value steps = StepPairs(before, after);
  const std::int64_t offset_ns =
      steps.items().empty() ? 0
                            : std::get<std::int64_t>(steps.items()[0].items()[0].variant()) -
                                  std::get<std::int64_t>(steps.items()[0].items()[1].variant());
  return JsonResponse(Value::Object()
                          .Set("offset_ns", offset_ns)
                          .Set("common_collectives",
                               std::min(before.view().matched.size(), after.view().matched.size()))
                          .Set("step_before_ns", diff.step_before.window_ns)
                          .Set("step_after_ns", diff.step_after.window_ns)
                          .Set("steps", std::move(steps))
                          .Set("changes", std::move(changes)));
}

}  // namespace orrery::serve
