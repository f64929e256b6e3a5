#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/nccl_operations.h"
#include "orrery/ingest/nsys/nvtx_payload.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/ingest/nsys/row_readers.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nsys {
namespace {

// An integer of a payload from 0 to `max`, else -1.
std::int64_t Integer(const std::vector<PayloadValue>& payload, std::string_view name,
                     std::int64_t max) {
  const auto value = std::ranges::find(payload, name, &PayloadValue::name);
  const auto number = value == payload.end() ? -1 : static_cast<std::int64_t>(value->bits);
  return number < 0 || number > max ? -1 : number;
}

std::int32_t SmallInteger(const std::vector<PayloadValue>& payload, std::string_view name) {
  return static_cast<std::int32_t>(
      Integer(payload, name, std::numeric_limits<std::int32_t>::max()));
}

// A petabyte: more is damage, and sums of such sizes stay far from overflow.
constexpr std::int64_t kMaxMessageBytes = std::int64_t{1} << 50;

void ReadPayload(NcclRecord& record, NcclCall& call, const std::vector<PayloadValue>& payload) {
  const auto id = std::ranges::find(payload, "NCCL communicator ID", &PayloadValue::name);
  call.communicator = id == payload.end() ? 0 : id->bits;
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

const std::vector<std::string_view> kColumns{
    "start",      "end",        "eventType",   "text",       "textId",      "globalTid",
    "domainId",   "category",   "uint64Value", "int64Value", "doubleValue", "uint32Value",
    "int32Value", "floatValue", "jsonText",    "jsonTextId", "binaryData"};

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

  static std::int64_t LastTime(RankSet& ranks) {
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (const auto& rank : ranks.all()) {
      last_ns = std::max(last_ns, trace::RecordedSpan(rank->trace).end_ns);
    }
    return last_ns;
  }

  // By the numbers of ENUM_NSYS_EVENT_TYPE; the later ones come from imported NVTXT files.
  void ReadRow(TableScan& row) {
    // Exports of others leave the type out: then all rows are ranges.
    const std::int64_t type = row.Integer(kType, 59);
    switch (type) {
      case 59:
      case 60:
      case 70:
      case 71:
        return ReadRange(row);
      case 34:
      case 65:
        return ReadMark(row);
      case 75:
        domains_[{ProcessOf(row.Integer(kThread)), row.Integer(kDomain)}] = NameOf(row);
        return;
      case 39:
      case 72:
        ranks_.ForRange(row.Integer(kThread), {}).RenameThread(row.Integer(kThread), NameOf(row));
        return;
      case 33:
      case 64:
        return ReadCategory(row);
      case 76:  // the end of a domain
        return;
      default:
        context_.problems.Note("NVTX event type without an equivalent in a trace", 1,
                               fmt::format("event type {}", type));
    }
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
    // NCCL marks its calls in a domain of its own; the row that names it may be missing.
    if (domain != 0 && text.starts_with("nccl")) {
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
    const std::int64_t thread = row.Integer(kThread);
    RankBuilder& rank = ranks_.ForRange(thread, {});
    rank.trace.instants.Append({.begin_ns = *time_ns,
                                .name = rank.Intern(NameOf(row)),
                                .category = DomainName(rank, thread, row.Integer(kDomain)),
                                .track = rank.HostTrack(thread),
                                .extra = rank.Intern(Extra(row, nullptr))});
  }

  void ReadCategory(TableScan& row) {
    RankBuilder& rank = ranks_.ForRange(row.Integer(kThread), {});
    const std::string key =
        fmt::format("NVTX category {} of domain {}", row.Integer(kCategory), row.Integer(kDomain));
    rank.trace.metadata.Append({.key = rank.Intern(key), .value = rank.Intern(NameOf(row))});
  }

  // A domain whose name is not known yet has one of its own until the end.
  StringId DomainName(RankBuilder& rank, std::int64_t thread, std::int64_t domain) {
    const ProcessKey process = ProcessOf(thread);
    return domain == 0 ? StringId::kEmpty
                       : FindOrAdd(placeholders_, std::tuple(&rank, process, domain), [&] {
                           return rank.Intern(fmt::format("domain {} of process {}", domain,
                                                          ProcessNumber(process)));
                         });
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
    for (const auto& [key, placeholder] : placeholders_) {
      const auto& [rank, process, domain] = key;
      // Windows cut out of an export lose the row that names the domain; NCCL's is the first.
      const bool is_nccl = !rank->nccl.calls.empty() && domain == 1;
      const std::string name =
          FindOr(domains_, std::pair(process, domain), std::string(is_nccl ? "NCCL" : ""));
      if (!name.empty()) {
        const StringId resolved = rank->Intern(name);
        std::ranges::replace(rank->trace.annotations.domain, placeholder, resolved);
        std::ranges::replace(rank->trace.instants.category, placeholder, resolved);
      }
    }
  }

  ExportContext& context_;
  RankSet& ranks_;
  PayloadDecoder payloads_;
  std::int64_t last_ns_;
  std::vector<Range> open_ranges_;
  std::map<std::pair<ProcessKey, std::int64_t>, std::string> domains_;
  std::map<std::tuple<RankBuilder*, ProcessKey, std::int64_t>, StringId> placeholders_;
};

}  // namespace

void ReadNvtxRows(ExportContext& context, RankSet& ranks) {
  NvtxReader(context, ranks).Read();
}

}  // namespace orrery::ingest::nsys
