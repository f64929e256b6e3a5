#include "orrery/workload/recorded/ranks/traced_job.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/collective/request.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/input.h"

namespace orrery::workload {
namespace {

using Value = std::optional<JsonElement>;

constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kVersion = 1;

std::string TextOr(const Value& value, std::string_view otherwise = "") {
  return std::string(Text(value).value_or(otherwise));
}

std::int64_t CountOr(const Value& value, std::int64_t otherwise) {
  const std::optional<std::int64_t> count = Integer(value);
  return count && *count >= 0 ? *count : otherwise;
}

int SmallCountOr(const Value& value, int otherwise) {
  const std::int64_t count = CountOr(value, otherwise);
  return count > kMostRanks ? otherwise : static_cast<int>(count);
}

Result<Rank> RankOf(const Value& value, std::string_view what, std::int64_t least) {
  const std::optional<std::int64_t> number = Integer(value);
  if (!number || *number < least || *number > kMostRanks) {
    return Refuse("'{}' is not a number from {} to {}: trace again", what, least, kMostRanks);
  }
  return static_cast<Rank>(*number);
}

std::vector<double> Milliseconds(const Value& list) {
  std::vector<double> times;
  ForEachElement(list, [&](const JsonElement& element) {
    if (const auto time = Number(element); time && *time > 0) {
      times.push_back(*time);
    }
  });
  return times;
}

Status ReadMesh(const Value& mesh, TracedJob& job) {
  Status status;
  ForEachElement(mesh, [&](const JsonElement& element) {
    const auto size = RankOf(Field(element, "size"), "size", 1);
    const auto stride = RankOf(Field(element, "stride"), "stride", 1);
    if (!size || !stride) {
      status = FailWithin("plan.mesh", size ? stride : size);
      return;
    }
    job.mesh.push_back({TextOr(Field(element, "name")), *size, *stride});
  });
  return status;
}

Result<TracedRank> ParseRank(const JsonElement& element, Rank world) {
  TracedRank rank;
  ORRERY_TRY(rank.rank, RankOf(Field(element, "rank"), "rank", 0));
  rank.folder = TextOr(Field(element, "folder"), fmt::format("rank-{}", rank.rank));
  const auto stands_for =
      ParseRanks(TextOr(Field(element, "stands_for"), std::to_string(rank.rank)), world);
  if (!stands_for) {
    return FailWithin(fmt::format("rank {}: stands_for", rank.rank), stands_for);
  }
  rank.stands_for = *stands_for;
  return rank;
}

Status ReadRanks(const Value& list, TracedJob& job) {
  Status status;
  ForEachElement(list, [&](const JsonElement& element) {
    Result<TracedRank> rank = ParseRank(element, job.world);
    if (!rank) {
      status = tl::unexpected(rank.error());
      return;
    }
    job.ranks.push_back(*std::move(rank));
  });
  return status;
}

/// Names of groups and their places.
using PlaceOfGroup = std::map<std::string, std::uint32_t, std::less<>>;

Result<TracedCommunication> ParseCommunication(const JsonElement& element,
                                               const PlaceOfGroup& groups) {
  TracedCommunication communication;
  const std::string_view kind = Text(Field(element, "kind")).value_or("");
  if (kind == "send" || kind == "receive") {
    communication.form =
        kind == "send" ? TracedCommunicationKind::kSend : TracedCommunicationKind::kReceive;
    communication.kind = CollectiveKind::kSendRecv;
  } else {
    ORRERY_TRY(communication.kind, collective::ParseCollectiveKind(kind));
  }
  const std::string group = TextOr(Field(element, "group"));
  const auto place = groups.find(group);
  if (place == groups.end()) {
    return Refuse("group '{}' is not among the groups of the file", group);
  }
  communication.group = place->second;
  communication.bytes = CountOr(Field(element, "bytes"), -1);
  if (communication.bytes < 0) {
    return Refuse("'bytes' is not a number of bytes");
  }
  const std::string_view type = Text(Field(element, "element")).value_or("fp32");
  communication.element = ParseDataType(type);
  if (communication.element == DataType::kUnknown) {
    return Refuse("'{}' is not a known data type", type);
  }
  communication.peer = Integer(Field(element, "peer")).value_or(-1);
  if (communication.form != TracedCommunicationKind::kCollective && communication.peer < 0) {
    return Refuse("a message needs 'peer', the rank of its other side");
  }
  return communication;
}

Result<PlaceOfGroup> ReadGroups(const Value& list, Rank world, TracedCollectives& collectives) {
  PlaceOfGroup places;
  Status status;
  ForEachElement(list, [&](const JsonElement& element) {
    TracedGroup group{.name = TextOr(Field(element, "name")),
                      .description = TextOr(Field(element, "description"))};
    auto ranks = ParseRanks(TextOr(Field(element, "ranks")), world);
    if (!ranks) {
      status = FailWithin(fmt::format("group '{}'", group.name), ranks);
      return;
    }
    group.ranks = *std::move(ranks);
    places.emplace(group.name, static_cast<std::uint32_t>(collectives.groups.size()));
    collectives.groups.push_back(std::move(group));
  });
  ORRERY_TRY_STATUS(status);
  return places;
}

// One of "3" and "0-7".
Status AppendRange(std::string_view text, Rank world, std::vector<Rank>& ranks) {
  const std::size_t dash = text.find('-');
  const std::optional<Rank> first = ParseWhole<Rank>(text.substr(0, dash));
  const std::optional<Rank> last =
      dash == std::string_view::npos ? first : ParseWhole<Rank>(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last >= world) {
    return Refuse("'{}' is not a rank or a range of ranks below {}", text, world);
  }
  const std::size_t old_size = ranks.size();
  ranks.resize(old_size + *last - *first + 1);
  std::iota(ranks.begin() + static_cast<std::ptrdiff_t>(old_size), ranks.end(), *first);
  return {};
}

Result<JsonElement> ObjectOf(JsonText& text, std::string_view json) {
  const Value document = text.Parse(json);
  if (!document || !document->is_object()) {
    return Refuse("not a JSON object: the file is truncated or not one of a traced job");
  }
  return *document;
}

namespace fs = std::filesystem;

constexpr std::string_view kJobFile = "trace.json";

template <typename Parse>
auto ParseFile(const std::string& path, const Parse& parse) -> decltype(parse(std::string_view())) {
  ORRERY_TRY(const std::string text, ReadUnpackedFile(path));
  auto parsed = parse(text);
  if (!parsed) {
    return FailWithin(path, parsed);
  }
  return parsed;
}

// Every rank of the world has one that stands for it.
Status CheckRanks(const TracedJob& job) {
  if (job.ranks.empty()) {
    return Refuse("no rank was traced: `orrery trace` ended before the first one");
  }
  std::vector<std::uint8_t> is_known(job.world);
  for (const TracedRank& rank : job.ranks) {
    if (std::ranges::find(rank.stands_for, rank.rank) == rank.stands_for.end()) {
      return Refuse("rank {} does not stand for itself", rank.rank);
    }
    for (const Rank stood_for : rank.stands_for) {
      if (std::exchange(is_known[stood_for], std::uint8_t{1}) != 0) {
        return Refuse("two traced ranks stand for rank {}", stood_for);
      }
    }
  }
  const auto missing = std::ranges::find(is_known, std::uint8_t{0});
  if (missing != is_known.end()) {
    return Refuse("no traced rank stands for rank {}: trace one of its kind as well",
                  missing - is_known.begin());
  }
  return {};
}

Status CheckMesh(const TracedJob& job) {
  std::uint64_t ranks = 1;
  for (const MeshDimension& dimension : job.mesh) {
    ranks *= ranks > job.world ? 1 : dimension.size;
  }
  return job.mesh.empty() || ranks == job.world
             ? Status()
             : Refuse("the dimensions of plan.mesh do not make the {} ranks of the world",
                      job.world);
}

// A file from elsewhere must not make the program read other folders than its own.
Status CheckFolder(const fs::path& job_folder, const TracedRank& rank) {
  std::error_code failed;
  const fs::path whole = fs::canonical(job_folder / ".", failed);
  const fs::path part = fs::weakly_canonical(job_folder / rank.folder, failed);
  const bool is_inside = std::ranges::mismatch(whole, part).in1 == whole.end();
  return failed || is_inside ? Status()
                             : Refuse(
                                   "rank {}: its folder '{}' is not below the folder of this "
                                   "file: copy it there and name that",
                                   rank.rank, rank.folder);
}

Status ReadRank(Rank world, TracedRank& rank, std::vector<std::string>& remarks) {
  ORRERY_TRY(rank.steps, ParseFile(rank.Path("steps.json"), ParseTracedSteps));
  ORRERY_TRY(rank.collectives,
             ParseFile(rank.Path("collectives.json"), [world](std::string_view json) {
               return ParseTracedCollectives(json, world);
             }));
  if (!rank.steps.is_complete) {
    remarks.push_back(fmt::format("The tracing of rank {} ended early{}{}", rank.rank,
                                  rank.steps.why.empty() ? "." : ": ", rank.steps.why));
  }
  return {};
}

}  // namespace

Result<std::vector<Rank>> ParseRanks(std::string_view text, Rank world) {
  std::vector<Rank> ranks;
  while (true) {
    const std::size_t comma = text.find(',');
    ORRERY_TRY_STATUS(AppendRange(text.substr(0, comma), world, ranks));
    if (ranks.size() > static_cast<std::size_t>(kMostRanks)) {
      return Refuse("the list has more ranks than a job can have");
    }
    if (comma == std::string_view::npos) {
      return ranks;
    }
    text.remove_prefix(comma + 1);
  }
}

Result<TracedJob> ParseTracedJob(std::string_view json) {
  JsonText text;
  ORRERY_TRY(const JsonElement document, ObjectOf(text, json));
  if (Text(Field(document, "format")) != "orrery trace") {
    return Refuse("'format' is not \"orrery trace\": the folder was not written by `orrery trace`");
  }
  const std::int64_t version = Integer(Field(document, "version")).value_or(0);
  if (version != kVersion) {
    return Fail(
        Error::Kind::kUnsupported,
        fmt::format("version {} of the format, but this release reads {}: trace again with the "
                    "tracer of this release",
                    version, kVersion));
  }
  TracedJob job;
  job.name = TextOr(Field(document, "name"), "a traced job");
  job.gpu = TextOr(Field(Field(document, "device"), "name"));
  ORRERY_TRY(job.world, RankOf(Field(document, "world"), "world", 1));
  const Value plan = Field(document, "plan");
  job.plan_kind = TextOr(Field(plan, "kind"));
  job.is_sharded = TextOr(Field(plan, "sharding")) == "full";
  job.microbatches = SmallCountOr(Field(plan, "microbatches"), 1);
  const Value training = Field(document, "training");
  job.micro_batch = CountOr(Field(training, "micro_batch"), 0);
  job.sequence = CountOr(Field(training, "sequence"), 0);
  job.accumulation = CountOr(Field(training, "accumulation"), 1);
  ORRERY_TRY_STATUS(ReadMesh(Field(plan, "mesh"), job));
  const Value model = Field(document, "model");
  job.parameters = CountOr(Field(model, "parameters"), 0);
  job.layer_parameters = CountOr(Field(model, "layer_parameters"), 0);
  job.layers = SmallCountOr(Field(model, "layers"), 0);
  job.traced_layers = SmallCountOr(Field(model, "traced_layers"), job.layers);
  ORRERY_TRY_STATUS(ReadRanks(Field(document, "ranks"), job));
  ForEachElement(Field(document, "remarks"),
                 [&](const JsonElement& remark) { job.remarks.push_back(TextOr(remark)); });
  return job;
}

Result<TracedSteps> ParseTracedSteps(std::string_view json) {
  JsonText text;
  ORRERY_TRY(const JsonElement document, ObjectOf(text, json));
  TracedSteps steps;
  if (const Value complete = Field(document, "complete")) {
    bool is_complete = true;
    steps.is_complete = complete->get(is_complete) != simdjson::SUCCESS || is_complete;
  }
  steps.why = TextOr(Field(document, "why"));
  const Value without = Field(document, "without_profiler");
  steps.step_ms = Milliseconds(Field(without, "step_ms"));
  steps.issue_ms = Milliseconds(Field(without, "issue_ms"));
  steps.alone_ms = Milliseconds(Field(without, "alone_ms"));
  steps.profiled_step_ms = Milliseconds(Field(Field(document, "with_profiler"), "step_ms"));
  steps.peak_allocated_bytes = CountOr(Field(document, "peak_allocated_bytes"), 0);
  steps.peak_reserved_bytes = CountOr(Field(document, "peak_reserved_bytes"), 0);
  return steps;
}

Result<TracedCollectives> ParseTracedCollectives(std::string_view json, Rank world) {
  JsonText text;
  ORRERY_TRY(const JsonElement document, ObjectOf(text, json));
  TracedCollectives collectives;
  ORRERY_TRY(const PlaceOfGroup places, ReadGroups(Field(document, "groups"), world, collectives));
  Status status;
  ForEachElement(Field(document, "collectives"), [&](const JsonElement& element) {
    Result<TracedCommunication> communication = ParseCommunication(element, places);
    if (!communication && status) {
      status = FailWithin(fmt::format("collective {}", collectives.communications.size()),
                          communication);
    }
    collectives.communications.push_back(communication.value_or(TracedCommunication{}));
  });
  ORRERY_TRY_STATUS(status);
  return collectives;
}

std::string TracedRank::Path(std::string_view file) const {
  return (fs::path(folder) / file).string();
}

bool HoldsTracedJob(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(fs::path(folder) / kJobFile, error);
}

Result<TracedJob> ReadTracedJob(const std::string& folder) {
  const std::string path = (fs::path(folder) / kJobFile).string();
  ORRERY_TRY(TracedJob job, ParseFile(path, ParseTracedJob));
  for (const Status& status : {CheckRanks(job), CheckMesh(job)}) {
    if (!status) {
      return FailWithin(path, status);
    }
  }
  for (TracedRank& rank : job.ranks) {
    if (const Status status = CheckFolder(folder, rank); !status) {
      return FailWithin(path, status);
    }
    rank.folder = (fs::path(folder) / rank.folder).string();
    ORRERY_TRY_STATUS(ReadRank(job.world, rank, job.remarks));
  }
  return job;
}

std::int64_t SamplesOfStep(const TracedJob& job, Rank world) {
  // More than any job reads: a file that says so is wrong.
  constexpr double kMostSamples = 1e15;
  if (job.mesh.empty() && job.world > 1) {
    return 0;
  }
  double ranks_of_replica = 1;
  for (const MeshDimension& dimension : job.mesh) {
    const bool is_data =
        std::ranges::find(kDataDimensions, dimension.name) != kDataDimensions.end();
    ranks_of_replica *= is_data ? 1.0 : dimension.size;
  }
  const double samples = static_cast<double>(job.micro_batch) *
                         static_cast<double>(job.accumulation) * job.microbatches * world /
                         ranks_of_replica;
  return samples <= kMostSamples ? static_cast<std::int64_t>(samples) : 0;
}

}  // namespace orrery::workload
