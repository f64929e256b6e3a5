#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <re2/re2.h>

#include "orrery/api/view.h"
#include "orrery/api/view/places.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/trace.h"

namespace orrery::api::view {
namespace {

constexpr std::size_t kMostNames = 50;
constexpr std::int64_t kMostHits = 1'000;

/// The pattern of a name: a text, whatever its case, or a match of "/regex/".
class NamePattern {
 public:
  [[nodiscard]] static Result<NamePattern> Of(const std::string& text) {
    if (text.empty()) {
      return Invalid("text is empty");
    }
    const bool is_regex = text.size() > 2 && text.front() == '/' && text.back() == '/';
    RE2::Options options;
    options.set_log_errors(false);
    options.set_case_sensitive(is_regex);
    options.set_literal(!is_regex);
    auto regex = std::make_shared<const RE2>(
        is_regex ? std::string_view(text).substr(1, text.size() - 2) : std::string_view(text),
        options);
    if (!regex->ok()) {
      return Invalid("{}: {}", text, regex->error());
    }
    return NamePattern(std::move(regex));
  }

  [[nodiscard]] bool Matches(std::string_view name) const {
    return RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *regex_);
  }

 private:
  explicit NamePattern(std::shared_ptr<const RE2> regex) : regex_(std::move(regex)) {}

  std::shared_ptr<const RE2> regex_;
};

struct NameTotal {
  std::int64_t count = 0;
  std::int64_t ns = 0;
};

struct Hit {
  std::int64_t begin_ns = 0;
  std::uint32_t rank_row = 0;
  SliceTable table = SliceTable::kActivities;
  RowId row = kNoRow;

  [[nodiscard]] auto Order() const { return std::tuple(begin_ns, rank_row, table, row); }
};

/// Collects the slices of traces with such names.
class Finder {
 public:
  Finder(const ViewedRun& run, const NamePattern& pattern, std::int64_t from_ns, std::size_t most)
      : run_(run), pattern_(pattern), from_ns_(from_ns), most_(most) {}

  void Look(std::uint32_t rank_row) {
    const std::uint32_t trace_place = run_.ranks()[rank_row].trace;
    const trace::Trace& trace = run_.set().ranks[trace_place];
    // Names repeat: each is looked at once.
    std::vector<std::uint8_t> matches(trace.strings.size());
    for (std::size_t i = 0; i < matches.size(); ++i) {
      matches[i] = pattern_.Matches(trace.Text(static_cast<StringId>(i))) ? 1 : 0;
    }
    for (const SliceTable table :
         {SliceTable::kAnnotations, SliceTable::kPythonCalls, SliceTable::kHostOps,
          SliceTable::kRuntimeCalls, SliceTable::kActivities}) {
      LookIn(rank_row, trace, table, matches);
    }
  }

  [[nodiscard]] Found Take() && {
    std::ranges::sort(hits_, {}, &Hit::Order);
    hits_.resize(std::min(hits_.size(), most_));
    std::vector<std::pair<std::string_view, NameTotal>> names(names_.begin(), names_.end());
    std::ranges::stable_sort(names, std::ranges::greater(),
                             [](const auto& item) { return item.second.ns; });
    names.resize(std::min(names.size(), kMostNames));
    Found found{.total = total_};
    for (const auto& [name, total] : names) {
      found.names.push_back({std::string(name), total.count, total.ns});
    }
    for (const Hit& hit : hits_) {
      if (std::optional<SlicePlace> place = PlaceOf(run_, hit.rank_row, hit.table, hit.row)) {
        found.hits.push_back(*std::move(place));
      }
    }
    return found;
  }

 private:
  void LookIn(std::uint32_t rank_row, const trace::Trace& trace, SliceTable table,
              const std::vector<std::uint8_t>& matches) {
    const SliceColumns columns = ColumnsOf(trace, table);
    std::map<StringId, NameTotal> totals;
    std::size_t taken = 0;
    for (RowId row = 0; row < columns.begin_ns.size(); ++row) {
      if (matches[static_cast<std::size_t>(columns.name[row])] == 0 ||
          columns.track[row] == kNoRow) {
        continue;
      }
      ++total_;
      NameTotal& total = totals[columns.name[row]];
      ++total.count;
      total.ns += std::max<std::int64_t>(columns.duration_ns[row], 0);
      // Rows are in order of begin: the first of a table are the first of all.
      if (columns.begin_ns[row] >= from_ns_ && taken < most_) {
        hits_.push_back({columns.begin_ns[row], rank_row, table, row});
        ++taken;
      }
    }
    for (const auto& [name, own] : totals) {
      NameTotal& total = names_[trace.Text(name)];
      total.count += own.count;
      total.ns += own.ns;
    }
  }

  const ViewedRun& run_;
  const NamePattern& pattern_;
  std::int64_t from_ns_;
  std::size_t most_;
  std::int64_t total_ = 0;
  std::map<std::string_view, NameTotal> names_;
  std::vector<Hit> hits_;
};

}  // namespace

Result<Found> FindSlices(const View& view, const FindRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, view.state().RunAt(request.run));
  ORRERY_TRY(const NamePattern pattern, NamePattern::Of(request.text));
  ORRERY_TRY_STATUS(CheckLimits("from", request.from, -kMostTime, kMostTime));
  ORRERY_TRY_STATUS(
      CheckLimits("rank", request.rank, -1, static_cast<std::int64_t>(run->ranks().size()) - 1));
  ORRERY_TRY_STATUS(CheckLimits("most", request.most, 1, kMostHits));
  Finder finder(*run, pattern,
                run->begin_ns() + std::clamp<std::int64_t>(request.from, 0, run->length_ns()),
                static_cast<std::size_t>(request.most));
  if (request.rank >= 0) {
    finder.Look(static_cast<std::uint32_t>(request.rank));
    return std::move(finder).Take();
  }
  std::vector<bool> seen(run->set().ranks.size(), false);
  for (std::uint32_t row = 0; row < run->ranks().size(); ++row) {
    if (!seen[run->ranks()[row].trace]) {
      seen[run->ranks()[row].trace] = true;
      finder.Look(row);
    }
  }
  return std::move(finder).Take();
}

}  // namespace orrery::api::view
