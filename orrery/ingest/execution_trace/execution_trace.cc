#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <simdjson.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/lookup.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/execution_trace/collectives.h"
#include "orrery/ingest/execution_trace/node_reader.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/json/json_repair.h"
#include "orrery/ingest/json/json_stream.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/ingest/kineto/event_tokens.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::ActivityKind;
using trace::Trace;

class ActivityBuilder {
 public:
  explicit ActivityBuilder(Trace& trace) : trace_(trace) {}

  void Add(RowId node) {
    const auto keys = text_.ParseFields(trace_.Text(trace_.graph_nodes.attributes[node]));
    const auto args = Field(keys, "args");
    trace::Activities::Row row;
    row.begin_ns = trace_.graph_nodes.begin_ns[node];
    row.duration_ns = trace_.graph_nodes.duration_ns[node];
    row.name = trace_.graph_nodes.name[node];
    row.kind = kineto::ActivityKindOf(kineto::FindCategory(Text(Field(keys, "cat")).value_or("")))
                   .value_or(ActivityKind::kOther);
    row.correlation = Integer(Field(args, "correlation")).value_or(-1);
    row.external_id = Integer(Field(args, "External id")).value_or(-1);
    row.bytes = Integer(Field(args, "bytes")).value_or(-1);
    row.track = TrackOf(Integer(Field(keys, "pid")).value_or(0), trace_.graph_nodes.thread[node],
                        SmallInteger(Field(args, "device")));
    row.shape = row.kind == ActivityKind::kKernel ? ShapeOf(args) : kNoRow;
    trace_.activities.Append(row);
  }

 private:
  RowId TrackOf(std::int64_t process, std::int64_t stream, std::int32_t device) {
    return FindOrAdd(tracks_, std::pair(process, stream), [&] {
      return trace_.tracks.Append({.kind = trace::TrackKind::kDevice,
                                   .process = process,
                                   .thread = stream,
                                   .device = device});
    });
  }

  RowId ShapeOf(const std::optional<JsonElement>& args) {
    const auto grid = Field(args, "grid");
    const auto block = Field(args, "block");
    const trace::LaunchShapes::Row shape{
        .grid_x = SmallInteger(ElementAt(grid, 0)),
        .grid_y = SmallInteger(ElementAt(grid, 1)),
        .grid_z = SmallInteger(ElementAt(grid, 2)),
        .block_x = SmallInteger(ElementAt(block, 0)),
        .block_y = SmallInteger(ElementAt(block, 1)),
        .block_z = SmallInteger(ElementAt(block, 2)),
        .registers_per_thread = SmallInteger(Field(args, "registers per thread")),
        .shared_memory_bytes = Integer(Field(args, "shared memory")).value_or(-1),
        .occupancy_percent = SmallInteger(Field(args, "est. achieved occupancy %")),
    };
    const std::tuple key(shape.grid_x, shape.grid_y, shape.grid_z, shape.block_x, shape.block_y,
                         shape.block_z, shape.registers_per_thread, shape.shared_memory_bytes,
                         shape.occupancy_percent);
    return FindOrAdd(shapes_, key, [&] { return trace_.launch_shapes.Append(shape); });
  }

  using ShapeKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                              std::int32_t, std::int32_t, std::int64_t, std::int32_t>;

  Trace& trace_;
  JsonText text_;
  std::map<std::pair<std::int64_t, std::int64_t>, RowId> tracks_;
  std::map<ShapeKey, RowId> shapes_;
};

// Adds an activity for each graph node that is device work, so that an execution trace that was
// merged with Kineto shows its kernels as any other trace does. The nodes stay: they hold the link
// to the operator (`parent`) and the tensors.
void AddActivities(Trace& trace) {
  ActivityBuilder builder(trace);
  for (RowId node = 0; node < trace.graph_nodes.size(); ++node) {
    if (trace.graph_nodes.kind[node] != trace::GraphNodeKind::kDeviceWork) {
      continue;
    }
    if (trace.graph_nodes.begin_ns[node] < 0) {
      trace.problems.Note("device work without a time: only a graph node");
      continue;
    }
    builder.Add(node);
  }
  kineto::ClassifyCopies(trace);
}

constexpr std::string_view kFormatName = "PyTorch execution trace";

// 2001-09-09 in nanoseconds since 1970; times of a steady clock are smaller.
constexpr std::int64_t kEarliestEpochNs = 1'000'000'000'000'000'000;

// `schema` with `nodes`, or nodes of the right kind where the keys are sorted and `schema` comes
// after them.
Result<bool> MatchesHead(ByteSource& head) {
  JsonStream stream(head);
  ORRERY_TRY(const char first, stream.PeekValue());
  if (first != '{') {
    return false;
  }
  ORRERY_TRY_STATUS(stream.EnterObject());
  bool has_schema = false;
  while (true) {
    ORRERY_TRY(const auto key, stream.NextKey());
    if (!key) {
      return false;
    }
    has_schema = has_schema || *key == "schema";
    if (*key == "nodes") {
      ORRERY_TRY(const char opening, stream.PeekValue());
      if (opening != '[' || has_schema) {
        return opening == '[';
      }
      ORRERY_TRY_STATUS(stream.EnterArray());
      ORRERY_TRY(const auto element, stream.NextElement());
      return element && Contains(*element, "\"id\"") &&
             (Contains(*element, "\"ctrl_deps\"") || Contains(*element, "\"fw_parent\""));
    }
  }
}

bool Matches(const InputFile& file) {
  const auto head = OpenMemory(file.head());
  return MatchesHead(*head).value_or(false);
}

std::string AtByte(std::int64_t offset) {
  return fmt::format("byte {}", offset);
}

class Reader {
 public:
  explicit Reader(ByteSource& source) : stream_(source), nodes_(trace_.strings) {}

  Result<Trace> Run() {
    // An error in the middle (a limit, a lost bracket) ends the walk like the end of the file.
    const Status walked = WalkDocument();
    const std::string kept = fmt::format("{} nodes kept", trace_.graph_nodes.size());
    const std::string place = fmt::format("byte {}, {}", stream_.offset(), kept);
    trace::ProblemLog& problems = trace_.problems;
    if (!walked && trace_.graph_nodes.empty()) {
      return tl::unexpected(walked.error());
    }
    if (!walked) {
      problems.Loss(fmt::format("reading stopped: {}", walked.error().message()), 1, kept);
    }
    if (stream_.end() == JsonEnd::kInsideValue) {
      problems.Loss("truncated JSON", 1, place);
    } else if (stream_.end() == JsonEnd::kBetweenValues) {
      problems.Loss("closed early: the brackets at the end are missing", 1, place);
    } else if (stream_.end() == JsonEnd::kComplete && !has_finish_) {
      problems.Note("no finish_ts: the recording was not finished");
    }
    LogRepairs(repairs_, AtByte(first_repair_), problems);
    problems.Note("stray comma between nodes", stream_.num_stray_commas());
    problems.Note("missing comma between nodes", stream_.num_missing_commas());
    LinkNodes(trace_, std::move(parent_ids_));
    return std::move(trace_);
  }

 private:
  Status WalkDocument() {
    ORRERY_TRY_STATUS(stream_.EnterObject());
    while (true) {
      ORRERY_TRY(const auto key, stream_.NextKey());
      if (!key) {
        return {};
      }
      const std::string name(*key);
      ORRERY_TRY(const char first, stream_.PeekValue());
      if (name == "nodes" && first == '[') {
        ORRERY_TRY_STATUS(WalkNodes());
      } else {
        ORRERY_TRY(const auto value, stream_.TakeValue());
        if (value) {
          ReadMember(name, *value);
        }
      }
    }
  }

  Status WalkNodes() {
    ORRERY_TRY_STATUS(stream_.EnterArray());
    while (true) {
      ORRERY_TRY(const auto element, stream_.NextElement());
      if (!element) {
        return {};
      }
      ReadNode(*element);
    }
  }

  void ReadNode(std::string_view element) {
    // Repairing looks at every byte; few files need it.
    std::string text = Minified(element);
    Result<Node> node = nodes_.Read(text);
    if (!node) {
      text = Repaired(element);
      node = nodes_.Read(text);
    }
    if (node && node->has_id) {
      trace_.graph_nodes.Append(node->row);
      parent_ids_.push_back(node->parent_id);
      return;
    }
    const std::string place = AtByte(stream_.value_offset());
    if (!node) {
      trace_.problems.Loss(node.error().message(), 1, place);
    } else if (node->is_empty) {
      trace_.problems.Note("empty object among the nodes", 1, place);
    } else {
      trace_.problems.Loss("node without an id", 1, place);
    }
  }

  // Anything beside the nodes: small values that say where the trace comes from.
  void ReadMember(const std::string& key, std::string_view value) {
    const std::string text = Repaired(value);
    JsonText parsed;
    const auto string = Text(parsed.Parse(text));
    const std::string_view content = string.value_or(text);
    if (key == "schema") {
      trace_.info.format_version = content;
    }
    has_finish_ = has_finish_ || key == "finish_ts";
    trace_.metadata.Append({.key = trace_.strings.Intern(key),
                            .value = trace_.strings.Intern(content),
                            .is_json = static_cast<std::uint8_t>(string ? 0 : 1)});
  }

  // Blanks between tokens go, as repairing drops them; what cannot be minified is left to the
  // parser.
  static std::string Minified(std::string_view text) {
    std::string minified(text.size() + simdjson::SIMDJSON_PADDING, '\0');
    std::size_t length = 0;
    const auto error = simdjson::minify(text.data(), text.size(), minified.data(), length);
    minified.resize(error == simdjson::SUCCESS ? length : 0);
    return minified;
  }

  std::string Repaired(std::string_view text) {
    JsonRepairs repairs;
    std::string repaired = RepairJson(text, repairs);
    if (repairs.any() && first_repair_ < 0) {
      first_repair_ = stream_.value_offset();
    }
    repairs_ += repairs;
    return repaired;
  }

  Trace trace_;
  JsonStream stream_;
  NodeReader nodes_;
  std::vector<std::int64_t> parent_ids_;
  JsonRepairs repairs_;
  std::int64_t first_repair_ = -1;
  bool has_finish_ = false;
};

// Only traces that were merged with Kineto have times.
trace::TimeOrigin OriginOfTimes(const Trace& trace) {
  const auto first = std::ranges::find_if(trace.graph_nodes.begin_ns,
                                          [](std::int64_t begin_ns) { return begin_ns >= 0; });
  const bool is_epoch = first != trace.graph_nodes.begin_ns.end() && *first >= kEarliestEpochNs;
  return is_epoch ? trace::TimeOrigin::kEpoch : trace::TimeOrigin::kUnknown;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const auto source, file.OpenContent());
  ORRERY_TRY(Trace trace, Reader(*source).Run());
  if (const std::string damage = source->damage(); !damage.empty()) {
    trace.problems.Loss("damaged compression", 1, damage);
  }
  if (trace.graph_nodes.empty()) {
    return Fail(Error::Kind::kInvalidInput, "the execution trace holds no complete node");
  }
  trace.info.format = kFormatName;
  trace.info.time_origin = OriginOfTimes(trace);
  trace.info.files = {file.path()};
  ReadCollectives(trace);
  AddActivities(trace);
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  return ContentOf(std::move(trace));
}

}  // namespace

// The JSON files of PyTorch's ExecutionTraceObserver, schemas 1.0.0 to 1.1.1, and those that
// were merged with Kineto afterwards. One file is one rank; its rows are `graph_nodes`,
// `process_groups` and `collectives`, with times and `activities` only after such a merge.
constinit const Format kFormat{.name = kFormatName, .matches = Matches, .read = Read};

}  // namespace orrery::ingest::execution_trace
