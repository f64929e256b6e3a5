#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <re2/re2.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/tiles/slice_tracks.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/trace/trace.h"

namespace orrery::serve {
namespace {

constexpr std::size_t kMostNames = 50;
constexpr std::int64_t kMostHits = 1'000;
constexpr std::int64_t kMostTime = std::int64_t{1} << 62;

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

  [[nodiscard]] Value Take() && {
    std::ranges::sort(hits_, {}, &Hit::Order);
    hits_.resize(std::min(hits_.size(), most_));
    std::vector<std::pair<std::string_view, NameTotal>> names(names_.begin(), names_.end());
    std::ranges::stable_sort(names, std::ranges::greater(),
                             [](const auto& item) { return item.second.ns; });
    names.resize(std::min(names.size(), kMostNames));
    Value hits = Value::List();
    for (const Hit& hit : hits_) {
      hits.Add(PlaceValue(run_, hit.rank_row, hit.table, hit.row));
    }
    return Value::Object()
        .Set("total", total_)
        .Set("names", Value::ListOf(names,
                                    [](const auto& item) {
                                      return Value::Object()
                                          .Set("name", item.first)
                                          .Set("count", item.second.count)
                                          .Set("ns", item.second.ns);
                                    }))
        .Set("hits", std::move(hits));
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

Result<Response> AnswerFind(const ViewedRun& run, const Query& query) {
  const auto num_ranks = static_cast<std::int64_t>(run.ranks().size());
  ORRERY_TRY(const std::string text, query.Text("text"));
  ORRERY_TRY(const NamePattern pattern, NamePattern::Of(text));
  ORRERY_TRY(const std::int64_t from, query.Number("from", -kMostTime, kMostTime, 0));
  ORRERY_TRY(const std::int64_t rank, query.Number("rank", -1, num_ranks - 1, -1));
  ORRERY_TRY(const std::int64_t most, query.Number("most", 1, kMostHits, 200));
  Finder finder(run, pattern, run.begin_ns() + std::clamp<std::int64_t>(from, 0, run.length_ns()),
                static_cast<std::size_t>(most));
  if (rank >= 0) {
    finder.Look(static_cast<std::uint32_t>(rank));
    return JsonResponse(std::move(finder).Take());
  }
  std::vector<bool> seen(run.set().ranks.size(), false);
  for (std::uint32_t row = 0; row < run.ranks().size(); ++row) {
    if (!seen[run.ranks()[row].trace]) {
      seen[run.ranks()[row].trace] = true;
      finder.Look(row);
    }
  }
  return JsonResponse(std::move(finder).Take());
}

}  // namespace orrery::serve
