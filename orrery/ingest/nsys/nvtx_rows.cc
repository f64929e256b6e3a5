#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/ingest/json_text.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/nvtx_payload.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/ingest/nsys/row_readers.h"
#include "orrery/trace/collective_names.h"

namespace orrery::ingest::nsys {
namespace {

inline constexpr std::string_view kNcclDomain = "NCCL";

const PayloadValue* Find(const std::vector<PayloadValue>& payload, std::string_view name) {
  const auto found = std::find_if(payload.begin(), payload.end(),
                                  [&](const PayloadValue& value) { return value.name == name; });
  return found == payload.end() ? nullptr : &*found;
}

std::int64_t Integer(const std::vector<PayloadValue>& payload, std::string_view name,
                     std::int64_t max) {
  const PayloadValue* value = Find(payload, name);
  const auto number = value == nullptr ? -1 : static_cast<std::int64_t>(value->bits);
  return number < 0 || number > max ? -1 : number;
}

std::int32_t SmallInteger(const std::vector<PayloadValue>& payload, std::string_view name) {
  return static_cast<std::int32_t>(
      Integer(payload, name, std::numeric_limits<std::int32_t>::max()));
}

// A petabyte: more is damage, and sums of such sizes stay far from overflow.
constexpr std::int64_t kMaxMessageBytes = std::int64_t{1} << 50;

void ReadPayload(NcclRecord& record, NcclCall& call, const std::vector<PayloadValue>& payload) {
  if (const PayloadValue* id = Find(payload, "NCCL communicator ID")) {
    call.communicator = id->bits;
  }
  call.bytes = Integer(payload, "Message size [bytes]", kMaxMessageBytes);
  call.peer = SmallInteger(payload, "Peer rank");
  const std::int32_t num_ranks = SmallInteger(payload, "No. of ranks");
  if (num_ranks > 0 && call.communicator != 0) {
    record.communicators.try_emplace(
        call.communicator, NcclCommunicator{.num_ranks = num_ranks,
                                            .rank = SmallInteger(payload, "Rank"),
                                            .device = SmallInteger(payload, "CUDA device")});
  }
}

// NCCL marks its calls in a domain of its own; the row that names the domain may be missing, the
// names of the calls are not.
bool IsNcclRange(std::int64_t domain, std::string_view name) {
  return domain != 0 && name.starts_with("nccl");
}

// Keeps a range of NCCL for the collectives: a call that moves data, the bounds of a group, or the
// creation of a communicator.
void AddNcclRange(RankBuilder& rank, std::string_view name, RowId track, const Interval& time,
                  const std::optional<std::vector<PayloadValue>>& payload) {
  NcclCall call{.track = track, .time = time, .name = rank.Intern(name)};
  if (payload) {
    ReadPayload(rank.nccl, call, *payload);
  }
  const auto kind = trace::ParseCollectiveName(name);
  if (name == "ncclGroupStart") {
    call.role = NcclCall::Role::kGroupStart;
  } else if (name == "ncclGroupEnd") {
    call.role = NcclCall::Role::kGroupEnd;
  } else if (kind) {
    call.kind = *kind;
  } else {
    return;
  }
  rank.nccl.calls.push_back(call);
}

constexpr std::string_view kTable = "NVTX_EVENTS";

enum Column : std::size_t {
  kStart,
  kEnd,
  kType,
  kText,
  kTextId,
  kThread,
  kDomain,
  kCategory,
  kUint64,
  kInt64,
  kDouble,
  kUint32,
  kInt32,
  kFloat,
  kJsonText,
  kJsonTextId,
  kBinary,
};

constexpr std::array<std::string_view, 17> kColumns{
    "start",      "end",        "eventType",   "text",       "textId",      "globalTid",
    "domainId",   "category",   "uint64Value", "int64Value", "doubleValue", "uint32Value",
    "int32Value", "floatValue", "jsonText",    "jsonTextId", "binaryData"};

// ENUM_NSYS_EVENT_TYPE; the second of each pair comes from imported NVTXT files.
enum class EventType { kRange, kMark, kCategory, kThreadName, kDomain, kDomainEnd, kOther };

EventType TypeOf(std::int64_t type) {
  switch (type) {
    case 59:
    case 60:
    case 70:
    case 71:
      return EventType::kRange;
    case 34:
    case 65:
      return EventType::kMark;
    case 33:
    case 64:
      return EventType::kCategory;
    case 39:
    case 72:
      return EventType::kThreadName;
    case 75:
      return EventType::kDomain;
    case 76:
      return EventType::kDomainEnd;
    default:
      return EventType::kOther;
  }
}

class NvtxReader {
 public:
  NvtxReader(ExportContext& context, RankSet& ranks)
      : context_(context), ranks_(ranks), payloads_(context), last_ns_(LastTime(ranks)) {}

  void Read() {
    context_.ForEachRow(kTable, kColumns, [&](TableScan& row) { ReadRow(row); });
    AppendOpenRanges();
    ResolveDomains();
  }

 private:
  struct Range {
    std::int64_t thread = 0;
    Interval time = {};
    std::string text = {};  // only of open ranges, which wait until the end
    std::int64_t domain = 0;
    std::string extra = {};
  };

  // A domain that was mentioned before its name was known stands under a name of its own.
  struct Mention {
    RankBuilder* rank = nullptr;
    StringId placeholder = StringId::kEmpty;
    ProcessKey process = kUnknownProcess;
    std::int64_t domain = 0;
  };

  static std::int64_t LastTime(RankSet& ranks) {
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (const auto& rank : ranks.all()) {
      last_ns = std::max(last_ns, trace::RecordedSpan(rank->trace).end_ns);
    }
    return last_ns;
  }

  void ReadRow(TableScan& row) {
    // Exports of others leave the type out: then all rows are ranges.
    const EventType type = TypeOf(row.Integer(kType, 59));
    switch (type) {
      case EventType::kRange:
        return ReadRange(row);
      case EventType::kMark:
        return ReadMark(row);
      case EventType::kDomain:
        domains_[{ProcessOf(row.Integer(kThread)), row.Integer(kDomain)}] = NameOf(row);
        return;
      case EventType::kThreadName:
        RankBuilderOf(row).RenameThread(row.Integer(kThread), NameOf(row));
        return;
      case EventType::kCategory:
        return ReadCategory(row);
      case EventType::kDomainEnd:
        return;
      case EventType::kOther:
        context_.problems.Note("NVTX event type without an equivalent in a trace", 1,
                               fmt::format("event type {}", row.Integer(kType)));
        return;
    }
  }

  RankBuilder& RankBuilderOf(const TableScan& row) {
    return ranks_.ForRange(row.Integer(kThread), {});
  }

  std::string_view NameOf(TableScan& row) const {
    const std::string_view text = row.Text(kText);
    return text.empty() ? context_.String(row.Integer(kTextId, -1)) : text;
  }

  void ReadRange(TableScan& row) {
    if (row.IsMissing(kEnd)) {
      const auto begin_ns = context_.ReadTime(row, kStart, kTable);
      if (begin_ns) {
        open_ranges_.push_back({.thread = row.Integer(kThread),
                                .time = {.begin_ns = *begin_ns},
                                .text = std::string(NameOf(row)),
                                .domain = row.Integer(kDomain),
                                .extra = Extra(row, nullptr)});
      }
      return;
    }
    const auto time = context_.ReadInterval(row, kStart, kEnd, kTable);
    if (!time) {
      return;
    }
    last_ns_ = std::max(last_ns_, time->end_ns());
    const std::string_view text = NameOf(row);
    const std::int64_t domain = row.Integer(kDomain);
    const auto payload = DecodePayload(row);
    Range range{.thread = row.Integer(kThread),
                .time = *time,
                .text = {},
                .domain = domain,
                .extra = Extra(row, payload ? &*payload : nullptr)};
    RankBuilder& rank = AppendRange(range, text);
    if (IsNcclRange(domain, text)) {
      AddNcclRange(rank, text, rank.HostTrack(range.thread), range.time, payload);
    }
  }

  std::optional<std::vector<PayloadValue>> DecodePayload(TableScan& row) {
    const std::string_view bytes = row.Text(kBinary);
    if (bytes.empty()) {
      return std::nullopt;
    }
    auto payload = payloads_.Decode(bytes);
    if (!payload) {
      context_.problems.Loss("NVTX payload that its schema does not explain", 1, kTable);
    }
    return payload;
  }

  std::string Extra(TableScan& row, const std::vector<PayloadValue>* payload) const {
    JsonFields extra;
    if (const std::int64_t category = row.Integer(kCategory); category != 0) {
      extra.Add("category", category);
    }
    for (const std::size_t column : {kUint64, kInt64, kUint32, kInt32}) {
      if (!row.IsMissing(column)) {
        extra.Add("payload", row.Integer(column));
      }
    }
    for (const std::size_t column : {kDouble, kFloat}) {
      if (!row.IsMissing(column)) {
        extra.Add("payload", row.Number(column));
      }
    }
    const std::string_view json = row.Text(kJsonText);
    const std::string_view shared_json =
        json.empty() ? context_.String(row.Integer(kJsonTextId, -1)) : json;
    if (!shared_json.empty()) {
      extra.Add("json", shared_json);
    }
    if (payload != nullptr) {
      AddPayload(extra, *payload);
    }
    return extra.text();
  }

  RankBuilder& AppendRange(const Range& range, std::string_view text) {
    RankBuilder& rank = ranks_.ForRange(range.thread, range.time);
    const auto op = range.domain == 0 ? ParseEmittedOperator(text) : std::nullopt;
    if (op) {
      AppendOperator(rank, range, *op);
      return rank;
    }
    if (text.empty()) {
      rank.trace.problems.Note("NVTX range without a name");
    }
    rank.trace.annotations.Append({.begin_ns = range.time.begin_ns,
                                   .duration_ns = range.time.duration_ns,
                                   .name = rank.Intern(text),
                                   .track = rank.HostTrack(range.thread),
                                   .domain = DomainName(rank, range.thread, range.domain),
                                   .extra = rank.Intern(range.extra)});
    return rank;
  }

  static void AppendOperator(RankBuilder& rank, const Range& range, const EmittedOperator& op) {
    JsonFields extra;
    if (!op.input_op_ids.empty()) {
      extra.Add("input op ids", op.input_op_ids);
    }
    std::string text = extra.text();
    text += (text.empty() || range.extra.empty() ? "" : ",") + range.extra;
    rank.trace.host_ops.Append({.begin_ns = range.time.begin_ns,
                                .duration_ns = range.time.duration_ns,
                                .name = rank.Intern(op.name),
                                .track = rank.HostTrack(range.thread),
                                .record_function_id = op.record_function_id,
                                .sequence = op.sequence,
                                .input_dims = rank.Intern(op.sizes),
                                .extra = rank.Intern(text)});
  }

  void ReadMark(TableScan& row) {
    const auto time_ns = context_.ReadTime(row, kStart, kTable);
    if (!time_ns) {
      return;
    }
    RankBuilder& rank = RankBuilderOf(row);
    const std::int64_t thread = row.Integer(kThread);
    rank.trace.instants.Append({.begin_ns = *time_ns,
                                .name = rank.Intern(NameOf(row)),
                                .category = DomainName(rank, thread, row.Integer(kDomain)),
                                .track = rank.HostTrack(thread),
                                .extra = rank.Intern(Extra(row, nullptr))});
  }

  void ReadCategory(TableScan& row) {
    RankBuilder& rank = RankBuilderOf(row);
    const std::string key =
        fmt::format("NVTX category {} of domain {}", row.Integer(kCategory), row.Integer(kDomain));
    rank.trace.metadata.Append({.key = rank.Intern(key), .value = rank.Intern(NameOf(row))});
  }

  StringId DomainName(RankBuilder& rank, std::int64_t thread, std::int64_t domain) {
    if (domain == 0) {
      return StringId::kEmpty;
    }
    const ProcessKey process = ProcessOf(thread);
    const auto [mention, is_new] = mentions_.try_emplace({&rank, {process, domain}});
    if (is_new) {
      mention->second = {.rank = &rank,
                         .placeholder = rank.Intern(fmt::format("domain {} of process {}", domain,
                                                                ProcessNumber(process))),
                         .process = process,
                         .domain = domain};
    }
    return mention->second.placeholder;
  }

  void AppendOpenRanges() {
    for (Range& range : open_ranges_) {
      range.time.duration_ns = std::max<std::int64_t>(last_ns_ - range.time.begin_ns, 0);
      RankBuilder& rank = AppendRange(range, range.text);
      rank.trace.problems.Note("NVTX range still open at the end of the recording");
    }
  }

  // Puts the names of domains in the place of their stand-ins.
  void ResolveDomains() {
    for (const auto& [key, mention] : mentions_) {
      const auto named = domains_.find({mention.process, mention.domain});
      const bool has_nccl_calls = !mention.rank->nccl.calls.empty();
      // Windows cut out of an export lose the row that names the domain; NCCL's is the first.
      const std::string_view name = named != domains_.end()                 ? named->second
                                    : has_nccl_calls && mention.domain == 1 ? kNcclDomain
                                                                            : std::string_view();
      if (name.empty()) {
        continue;
      }
      const StringId resolved = mention.rank->Intern(name);
      auto& trace = mention.rank->trace;
      std::replace(trace.annotations.domain.begin(), trace.annotations.domain.end(),
                   mention.placeholder, resolved);
      std::replace(trace.instants.category.begin(), trace.instants.category.end(),
                   mention.placeholder, resolved);
    }
  }

  ExportContext& context_;
  RankSet& ranks_;
  PayloadDecoder payloads_;
  std::int64_t last_ns_;
  std::vector<Range> open_ranges_;
  std::map<std::pair<ProcessKey, std::int64_t>, std::string> domains_;
  std::map<std::pair<RankBuilder*, std::pair<ProcessKey, std::int64_t>>, Mention> mentions_;
};

}  // namespace

void ReadNvtxRows(ExportContext& context, RankSet& ranks) {
  NvtxReader(context, ranks).Read();
}

}  // namespace orrery::ingest::nsys
