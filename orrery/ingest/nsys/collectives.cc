#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/nccl_operations.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nsys {
namespace {
using trace::CommunicationKernel;
using trace::Trace;

struct Kernel {
  RowId activity = kNoRow;
  CommunicationKernel what = {};
};

// A future row: calls of one kind and communicator, and their kernels.
struct Bundle {
  std::vector<NcclCall> calls;
  std::vector<Kernel> kernels;
};

std::vector<Kernel> FindKernels(const Trace& trace) {
  tsl::robin_map<std::uint32_t, std::optional<CommunicationKernel>> known;
  std::vector<Kernel> kernels;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    if (trace.activities.kind[row] != trace::ActivityKind::kKernel) {
      continue;
    }
    const StringId name = trace.activities.name[row];
    const auto what = FindOrAdd(known, static_cast<std::uint32_t>(name), [&] {
      return trace::ClassifyCommunicationKernel(trace.Text(name));
    });
    if (what) {
      kernels.push_back({.activity = row, .what = *what});
    }
  }
  return kernels;
}

// The operation around the launch of a kernel; -1 if there is none.
std::ptrdiff_t FindOperation(const Trace& trace, const std::vector<NcclOperation>& operations,
                             const Kernel& kernel) {
  const RowId launch = trace.activities.launch[kernel.activity];
  if (launch == kNoRow) {
    return -1;
  }
  const std::pair place(trace.runtime_calls.track[launch], trace.runtime_calls.begin_ns[launch]);
  const auto after = std::upper_bound(operations.begin(), operations.end(), place,
                                      [](const auto& key, const NcclOperation& operation) {
                                        return key < std::pair(operation.track, operation.begin_ns);
                                      });
  if (after == operations.begin()) {
    return -1;
  }
  const auto candidate = std::prev(after);
  const bool contains = candidate->track == place.first && place.second < candidate->end_ns;
  return contains ? candidate - operations.begin() : -1;
}

// The kind of kernel that serves a call: NCCL makes point-to-point kernels for everything that has
// no algorithm of its own.
CollectiveKind ServedBy(CollectiveKind call) {
  switch (call) {
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return CollectiveKind::kSendRecv;
    default:
      return call;
  }
}

std::vector<Bundle> BundleCalls(const NcclOperation& operation) {
  std::map<std::pair<CollectiveKind, std::uint64_t>, std::size_t> index;
  std::vector<Bundle> bundles;
  for (const NcclCall& call : operation.calls) {
    const auto [entry, is_new] =
        index.try_emplace({ServedBy(call.kind), call.communicator}, bundles.size());
    if (is_new) {
      bundles.emplace_back();
    }
    bundles[entry->second].calls.push_back(call);
  }
  return bundles;
}

// Assigns kernels to the bundle that they can serve: the only one, or one each where
// there are as many kernels as bundles. Kernels that fit no bundle are returned.
std::vector<Kernel> AssignKernels(std::vector<Bundle>& bundles,
                                  const std::vector<Kernel>& kernels) {
  std::map<CollectiveKind, std::vector<Kernel>> by_kind;
  for (const Kernel& kernel : kernels) {
    by_kind[kernel.what.kind].push_back(kernel);
  }
  std::vector<Kernel> left;
  for (const auto& [kind, same_kind] : by_kind) {
    std::vector<Bundle*> served;
    for (Bundle& bundle : bundles) {
      if (kind == CollectiveKind::kUnknown || ServedBy(bundle.calls[0].kind) == ServedBy(kind)) {
        served.push_back(&bundle);
      }
    }
    if (served.size() != 1 && served.size() != same_kind.size()) {
      left.insert(left.end(), same_kind.begin(), same_kind.end());
      continue;
    }
    for (std::size_t i = 0; i < same_kind.size(); ++i) {
      served[served.size() == 1 ? 0 : i]->kernels.push_back(same_kind[i]);
    }
  }
  return left;
}

std::vector<Bundle> MakeBundles(const Trace& trace, const NcclRecord& record,
                                std::int64_t& num_unclear) {
  const std::vector<NcclOperation> operations = GroupNcclCalls(record.calls);
  std::vector<std::vector<Kernel>> kernels_of_operation(operations.size());
  std::vector<Bundle> bundles;
  for (const Kernel& kernel : FindKernels(trace)) {
    const std::ptrdiff_t operation = FindOperation(trace, operations, kernel);
    if (operation < 0) {
      bundles.push_back({.calls = {}, .kernels = {kernel}});
    } else {
      kernels_of_operation[static_cast<std::size_t>(operation)].push_back(kernel);
    }
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    std::vector<Bundle> made = BundleCalls(operations[i]);
    for (const Kernel& kernel : AssignKernels(made, kernels_of_operation[i])) {
      bundles.push_back({.calls = {}, .kernels = {kernel}});
      ++num_unclear;
    }
    std::move(made.begin(), made.end(), std::back_inserter(bundles));
  }
  return bundles;
}

Interval SpanOf(const Trace& trace, const Bundle& bundle) {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  const auto extend = [&](std::int64_t begin, std::int64_t duration) {
    begin_ns = std::min(begin_ns, begin);
    end_ns = std::max(end_ns, begin + duration);
  };
  for (const Kernel& kernel : bundle.kernels) {
    extend(trace.activities.begin_ns[kernel.activity],
           trace.activities.duration_ns[kernel.activity]);
  }
  for (std::size_t i = 0; bundle.kernels.empty() && i < bundle.calls.size(); ++i) {
    extend(bundle.calls[i].time.begin_ns, bundle.calls[i].time.duration_ns);
  }
  return {.begin_ns = begin_ns, .duration_ns = end_ns - begin_ns};
}

class CollectiveWriter {
 public:
  CollectiveWriter(Trace& trace, const NcclRecord& record) : trace_(trace), record_(record) {}

  void Write(const std::vector<Bundle>& bundles) {
    std::vector<std::pair<Interval, const Bundle*>> order;
    for (const Bundle& bundle : bundles) {
      order.emplace_back(SpanOf(trace_, bundle), &bundle);
    }
    std::ranges::stable_sort(order, {}, [](const auto& entry) {
      return std::pair(entry.first.begin_ns, -entry.first.duration_ns);
    });
    for (const auto& [time, bundle] : order) {
      Append(time, *bundle);
    }
  }

 private:
  void Append(const Interval& time, const Bundle& bundle) {
    trace::Collectives::Row row{.begin_ns = time.begin_ns, .duration_ns = time.duration_ns};
    if (!bundle.kernels.empty()) {
      const Kernel& first = bundle.kernels.front();
      row.name = trace_.activities.name[first.activity];
      row.kind = first.what.kind;
      row.data_type = first.what.data_type;
      row.track = trace_.activities.track[first.activity];
      row.host_op = trace_.activities.host_op[first.activity];
      row.num_kernels = static_cast<std::int32_t>(bundle.kernels.size());
    }
    if (!bundle.calls.empty()) {
      AddCalls(row, bundle);
    }
    const RowId collective = trace_.collectives.Append(row);
    for (const Kernel& kernel : bundle.kernels) {
      trace_.activities.collective[kernel.activity] = collective;
    }
  }

  void AddCalls(trace::Collectives::Row& row, const Bundle& bundle) {
    const std::vector<NcclCall>& calls = bundle.calls;
    row.name = calls[0].name;
    const auto differs = [&](auto member) {
      return std::ranges::any_of(
          calls, [&](const NcclCall& call) { return call.*member != calls[0].*member; });
    };
    row.kind = differs(&NcclCall::kind) ? CollectiveKind::kSendRecv : calls[0].kind;
    row.peer = differs(&NcclCall::peer) ? -1 : calls[0].peer;
    const std::uint64_t communicator = calls[0].communicator;
    row.group = communicator == 0 ? kNoRow : GroupOf(communicator);
    const MessageSizes sizes =
        SumMessageSizes(calls, FindOr(record_.communicators, communicator).num_ranks);
    row.in_bytes = sizes.in_bytes;
    row.out_bytes = sizes.out_bytes;
    const std::int64_t element_bytes = SizeInBytes(1, row.data_type);
    if (element_bytes > 0) {
      row.in_elements = row.in_bytes < 0 ? -1 : row.in_bytes / element_bytes;
      row.out_elements = row.out_bytes < 0 ? -1 : row.out_bytes / element_bytes;
    }
  }

  RowId GroupOf(std::uint64_t communicator) {
    return FindOrAdd(groups_, communicator, [&] {
      return trace_.process_groups.Append(
          {.name = trace_.strings.Intern(fmt::format("{:#x}", communicator)),
           .description = trace_.strings.Intern("NCCL communicator"),
           .backend = trace_.strings.Intern("nccl"),
           .num_ranks = FindOr(record_.communicators, communicator).num_ranks,
           .communicator = communicator});
    });
  }

  Trace& trace_;
  const NcclRecord& record_;
  std::map<std::uint64_t, RowId> groups_;
};

}  // namespace

void FillCollectives(Trace& trace, const NcclRecord& record) {
  std::int64_t num_unclear = 0;
  CollectiveWriter(trace, record).Write(MakeBundles(trace, record, num_unclear));
  trace.problems.Note("communication kernel that several calls of its group could have launched",
                      num_unclear);
}

}  // namespace orrery::ingest::nsys
