#include "orrery/serve/answers/answers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/draw/format.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/tiles/activity_mipmap.h"
#include "orrery/serve/tiles/slice_tracks.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/trace/trace_set.h"

namespace orrery::serve {
namespace {

constexpr std::int64_t kMostTime = std::int64_t{1} << 62;

using RunEndpoint = Result<Response> (*)(const ViewedRun&, const Query&);

struct Endpoint {
  std::string_view path;
  RunEndpoint answer;
};

constexpr std::array<Endpoint, 10> kOfRun = {{
    {"api/activity", AnswerActivity},
    {"api/tracks", AnswerTracks},
    {"api/slices", AnswerSlices},
    {"api/slice", AnswerSlice},
    {"api/launches", AnswerLaunches},
    {"api/collectives", AnswerCollectives},
    {"api/critical", AnswerCritical},
    {"api/range", AnswerRange},
    {"api/find", AnswerFind},
    {"api/tab", AnswerTab},
}};

Response Refused(int status, std::string sentence) {
  return {.status = status, .type = "text/plain; charset=utf-8", .body = std::move(sentence)};
}

int StatusOf(const Error& error) {
  return error.kind() == Error::Kind::kNotFound ? 404 : 400;
}

}  // namespace

Response JsonResponse(const Value& value) {
  return {.body = draw::JsonText(value)};
}

Response Answers::Answer(const Request& request) {
  for (const Asset& asset : options_.assets) {
    if (!request.is_post && asset.path == request.path) {
      return {.type = std::string(asset.type), .body = std::string(asset.bytes)};
    }
  }
  Result<Response> response = AnswerApi(request);
  return response ? *std::move(response)
                  : Refused(StatusOf(response.error()), response.error().message());
}

Result<Response> Answers::AnswerApi(const Request& request) {
  constexpr std::array<Action, 4> kActions = {{
      {"api/predict", &Answers::Predict},
      {"api/plan", &Answers::SimulatePlan},
      {"api/what-if", &Answers::WhatIf},
      {"api/export", &Answers::Export},
  }};
  if (const auto action = std::ranges::find(kActions, request.path, &Action::path);
      action != kActions.end()) {
    if (!request.is_post) {
      return Invalid("{} wants POST", request.path);
    }
    Result<Response> response = (this->*action->answer)(request);
    ReturnFreedMemoryNow();  // the simulated job and its traces are gone, or another one is
    return response;
  }
  if (request.path == "api/session") {
    return JsonResponse(SessionOf(Runs(), options_));
  }
  if (request.path == "api/differences") {
    return Differences(request.query);
  }
  if (request.path == "api/tab" && options_.plans &&
      request.query.Text("name").value_or("") == "search") {
    return TabResponse(*options_.plans);
  }
  if (request.path == "api/ranks") {
    ORRERY_TRY(const std::shared_ptr<ViewedRun> run, RunOf(request.query));
    return JsonResponse(RanksOf(*run));
  }
  const auto endpoint = std::ranges::find(kOfRun, request.path, &Endpoint::path);
  if (endpoint == kOfRun.end()) {
    return Fail(Error::Kind::kNotFound, "there is nothing under this address");
  }
  ORRERY_TRY(const std::shared_ptr<ViewedRun> run, RunOf(request.query));
  return endpoint->answer(*run, request.query);
}

RunList Answers::Runs() const {
  const std::shared_lock lock(mutex_);
  return runs_;
}

Result<std::shared_ptr<ViewedRun>> Answers::RunOf(const Query& query) const {
  const RunList runs = Runs();
  ORRERY_TRY(const std::int64_t run,
             query.Number("run", 0, static_cast<std::int64_t>(runs.size()) - 1, 0));
  return runs[static_cast<std::size_t>(run)];
}

Result<Response> Answers::Differences(const Query& query) const {
  const RunList runs = Runs();
  if (runs.size() < 2) {
    return Fail(Error::Kind::kNotFound, "there is no second run to compare with");
  }
  const auto last = static_cast<std::int64_t>(runs.size()) - 1;
  ORRERY_TRY(const std::int64_t a, query.Number("a", 0, last, 0));
  ORRERY_TRY(const std::int64_t b, query.Number("b", 0, last, 1));
  return AnswerDifferences(*runs[static_cast<std::size_t>(a)], *runs[static_cast<std::size_t>(b)]);
}

std::size_t Answers::KeepMade(std::shared_ptr<ViewedRun> run) {
  const std::unique_lock lock(mutex_);
  runs_.resize(num_opened_);
  runs_.push_back(std::move(run));
  return num_opened_;
}

Result<Response> Answers::SimulatePlan(const Request& request) {
  JsonText text;
  const std::optional<std::int64_t> plan = Integer(Field(text.Parse(request.body), "plan"));
  if (options_.actions.simulate_plan == nullptr || !plan || *plan < 0) {
    return Fail(Error::Kind::kNotFound, "there is no such plan");
  }
  ORRERY_TRY(std::shared_ptr<ViewedRun> run,
             options_.actions.simulate_plan(static_cast<std::size_t>(*plan)));
  return JsonResponse(Value::Object()
                          .Set("name", run->name())
                          .Set("step_ns", run->simulated()->simulation->step_ps() / 1000)
                          .Set("run", KeepMade(run)));
}

Result<RankAt> RankOf(const ViewedRun& run, const Query& query) {
  ORRERY_TRY(const std::int64_t rank,
             query.Number("rank", 0, static_cast<std::int64_t>(run.ranks().size()) - 1));
  const auto row = static_cast<std::uint32_t>(rank);
  return RankAt{row, run.ranks()[row].trace};
}

Result<TileAt> TileOf(const Query& query) {
  ORRERY_TRY(const std::int64_t level, query.Number("level", 0, kMaxLevel));
  ORRERY_TRY(const std::int64_t tile, query.Number("tile", 0, LastTile(static_cast<int>(level))));
  return TileAt{static_cast<int>(level), tile};
}

Result<RankOrder> OrderOf(const Query& query) {
  constexpr std::array<std::string_view, kNumRankOrders> kNames = {"rank", "stage", "node", "late"};
  ORRERY_TRY(const std::string name, query.Text("order"));
  const auto found = std::ranges::find(kNames, name.empty() ? "rank" : std::string_view(name));
  if (found == kNames.end()) {
    return Invalid("order is none of rank, stage, node, late");
  }
  return static_cast<RankOrder>(found - kNames.begin());
}

Result<std::vector<std::uint32_t>> RanksIn(const ViewedRun& run, const Query& query) {
  const auto num_ranks = static_cast<std::int64_t>(run.ranks().size());
  ORRERY_TRY(const RankOrder order, OrderOf(query));
  ORRERY_TRY(const std::int64_t first, query.Number("first", 0, num_ranks, 0));
  ORRERY_TRY(const std::int64_t count, query.Number("count", 0, kMostTime, num_ranks));
  const std::vector<std::uint32_t>& ordered = run.Ordered(order);
  const std::int64_t end = first + std::min(count, num_ranks - first);
  return std::vector<std::uint32_t>(ordered.begin() + first, ordered.begin() + end);
}

Result<Interval> WindowOf(const ViewedRun& run, const Query& query) {
  ORRERY_TRY(const std::int64_t begin, query.Number("begin", -kMostTime, kMostTime, 0));
  ORRERY_TRY(const std::int64_t end, query.Number("end", -kMostTime, kMostTime, run.length_ns()));
  const auto on_clock = [&](std::int64_t time_ns) {
    return run.begin_ns() + std::clamp<std::int64_t>(time_ns, 0, run.length_ns());
  };
  return Interval{on_clock(begin), std::max(on_clock(begin), on_clock(end))};
}

Value PlaceValue(const ViewedRun& run, std::uint32_t rank_row, SliceTable table, RowId row) {
  const std::uint32_t trace = run.ranks()[rank_row].trace;
  const SliceColumns columns = ColumnsOf(run.set().ranks[trace], table);
  if (row >= columns.begin_ns.size() || columns.track[row] == kNoRow) {
    return {};
  }
  const auto track = run.IndexOf(trace).PlaceOf(table, columns.track[row]);
  if (!track) {
    return {};
  }
  return Value::Object()
      .Set("rank", rank_row)
      .Set("track", *track)
      .Set("row", row)
      .Set("begin_ns", columns.begin_ns[row] - run.begin_ns())
      .Set("duration_ns", columns.duration_ns[row])
      .Set("name", run.set().ranks[trace].Text(columns.name[row]));
}

}  // namespace orrery::serve
