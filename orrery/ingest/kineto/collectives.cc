#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/lookup.h"
#include "orrery/base/row_numbers.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/shape_text.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

using trace::ArrayItems;
using trace::Collectives;
using trace::NumElements;
using trace::Trace;

DataType TypeInList(std::string_view types) {
  for (const std::string_view item : ArrayItems(types)) {
    const DataType type = ParseDataType(Unquoted(item));
    if (type != DataType::kUnknown) {
      return type;
    }
  }
  return DataType::kUnknown;
}

std::string_view ItemAt(std::string_view array, std::size_t index) {
  const auto items = ArrayItems(array);
  return index < items.size() ? items[index] : std::string_view();
}

// The array after a key of `extra`; the extras of annotations are one level of JSON.
std::string_view ExtraValue(std::string_view extra, std::string_view key) {
  const std::size_t at = extra.find('"' + std::string(key) + "\": [");
  if (at == std::string_view::npos) {
    return {};
  }
  const std::size_t begin = extra.find('[', at);
  int depth = 0;
  for (std::size_t end = begin; end < extra.size(); ++end) {
    depth += extra[end] == '[' ? 1 : extra[end] == ']' ? -1 : 0;
    if (depth == 0) {
      return extra.substr(begin, end - begin + 1);
    }
  }
  return {};
}

bool IsGatherLike(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
}

class Builder {
 public:
  explicit Builder(Trace& trace)
      : trace_(trace),
        args_(std::move(trace.collectives)),
        call_name_(trace.strings.Find("record_param_comms")) {
    trace_.collectives = {};
  }

  void Run() {
    AddKernels();
    AddCallsWithoutKernels();
    if (trace_.collectives.empty()) {
      AddFakeCalls();
    }
    Sort();
    DropUnusedGroups();
    trace_.problems.Note("collective call without a kernel (groups of one rank, or not recorded)",
                         has_kernels_ ? without_kernel_ : 0);
  }

 private:
  [[nodiscard]] bool IsCall(RowId op) const {
    return call_name_ != StringId::kEmpty && trace_.host_ops.name[op] == call_name_;
  }

  [[nodiscard]] RowId CallAround(RowId op) const {
    while (op != kNoRow && !IsCall(op)) {
      op = trace_.host_ops.parent[op];
    }
    return op;
  }

  void AddKernels() {
    for (RowId row = 0; row < trace_.activities.size(); ++row) {
      const bool may_communicate = trace_.activities.kind[row] == trace::ActivityKind::kKernel ||
                                   trace_.activities.kind[row] == trace::ActivityKind::kOther;
      const RowId own_args = trace_.activities.collective[row];
      trace_.activities.collective[row] = kNoRow;
      if (!may_communicate) {
        continue;
      }
      const StringId name = trace_.activities.name[row];
      const auto kernel = FindOrAdd(kernel_of_name_, static_cast<std::uint32_t>(name), [&] {
        return trace::ClassifyCommunicationKernel(trace_.Text(name));
      });
      if (kernel || own_args != kNoRow) {
        AddKernel(row, own_args, kernel.value_or(trace::CommunicationKernel{}));
      }
    }
  }

  void AddKernel(RowId row, RowId own_args, const trace::CommunicationKernel& kernel) {
    has_kernels_ = true;
    const RowId call = CallAround(trace_.activities.host_op[row]);
    const std::int64_t begin_ns = trace_.activities.begin_ns[row];
    const std::int64_t end_ns = begin_ns + trace_.activities.duration_ns[row];
    Collectives& all = trace_.collectives;
    if (const RowId known = call == kNoRow ? kNoRow : FindOr(of_call_, call, kNoRow);
        known != kNoRow) {
      trace_.activities.collective[row] = known;
      ++all.num_kernels[known];
      const std::int64_t last_ns = std::max(end_ns, all.begin_ns[known] + all.duration_ns[known]);
      all.begin_ns[known] = std::min(all.begin_ns[known], begin_ns);
      all.duration_ns[known] = last_ns - all.begin_ns[known];
      return;
    }
    Collectives::Row instance = Describe(call, own_args, kernel);
    instance.begin_ns = begin_ns;
    instance.duration_ns = end_ns - begin_ns;
    instance.track = trace_.activities.track[row];
    instance.num_kernels = 1;
    trace_.activities.collective[row] = Add(instance, call);
  }

  void AddCallsWithoutKernels() {
    for (RowId op = 0; op < trace_.host_ops.size(); ++op) {
      if (of_call_.contains(op)) {
        continue;
      }
      if (!IsCall(op) || IsWait(op)) {
        trace_.host_ops.collective[op] = kNoRow;
        continue;
      }
      ++without_kernel_;
      Collectives::Row instance = Describe(op, kNoRow, {});
      instance.begin_ns = trace_.host_ops.begin_ns[op];
      instance.duration_ns = trace_.host_ops.duration_ns[op];
      Add(instance, op);
    }
  }

  void AddFakeCalls() {
    std::vector<bool> is_inside(trace_.host_ops.size(), false);
    for (RowId op = 0; op < trace_.host_ops.size(); ++op) {
      const RowId parent = trace_.host_ops.parent[op];
      is_inside[op] = parent != kNoRow && is_inside[parent];
      const std::string_view name = trace_.Text(trace_.host_ops.name[op]);
      if (!name.starts_with("c10d::") && !name.starts_with("_c10d_functional::")) {
        continue;
      }
      const auto kind = trace::ParseCollectiveName(name);
      if (!kind || is_inside[op]) {
        continue;
      }
      is_inside[op] = true;
      Add(DescribeFake(op, *kind), op);
    }
  }

  RowId Add(Collectives::Row instance, RowId call) {
    instance.host_op = call;
    const RowId row = trace_.collectives.Append(instance);
    if (call != kNoRow) {
      of_call_.emplace(call, row);
      trace_.host_ops.collective[call] = row;
    }
    return row;
  }

  // A wait has the number of the call that it waits for in place of tensors. Where values were not
  // recorded, calls are told by the annotation that NCCL's backend puts inside.
  [[nodiscard]] bool IsWait(RowId op) const {
    const RowId args = trace_.host_ops.collective[op];
    if (args != kNoRow) {
      return trace_.Text(args_.name[args]) == "wait";
    }
    const std::string_view values = trace_.Text(trace_.host_ops.concrete_inputs[op]);
    if (Contains(values, "\"wait\"")) {
      return true;
    }
    if (values.empty() && trace_.host_ops.input_types[op] == StringId::kEmpty) {
      return AnnotationIn(op) == kNoRow;
    }
    return Unquoted(ItemAt(trace_.Text(trace_.host_ops.input_types[op]), 0)) == "Scalar";
  }

  Collectives::Row Describe(RowId call, RowId kernel_args,
                            const trace::CommunicationKernel& kernel) {
    const RowId call_args = call == kNoRow ? kNoRow : trace_.host_ops.collective[call];
    Collectives::Row row;
    if (call_args != kNoRow) {
      row = args_.At(call_args);
    } else if (kernel_args != kNoRow) {
      row = args_.At(kernel_args);
    } else if (call != kNoRow) {
      ReadInputs(call, row);
    }
    if (call != kNoRow && (row.kind == CollectiveKind::kUnknown || row.in_elements < 0)) {
      if (const RowId annotation = AnnotationIn(call); annotation != kNoRow) {
        ReadAnnotation(annotation, row);
      }
    }
    // The call comes first: an all-to-all runs in a kernel called SendRecv.
    if (row.kind == CollectiveKind::kUnknown) {
      row.kind = kernel.kind;
    }
    if (row.data_type == DataType::kUnknown) {
      row.data_type = kernel.data_type;
    }
    if (row.in_bytes < 0) {
      row.in_bytes = SizeInBytes(row.in_elements, row.data_type);
    }
    if (row.out_bytes < 0) {
      row.out_bytes = SizeInBytes(row.out_elements, row.data_type);
    }
    return row;
  }

  // Files before PyTorch 2.3 have shapes and values of the call, but no collective arguments:
  // tensors, sequence number, group, rank, name, splits, splits, group size.
  void ReadInputs(RowId call, Collectives::Row& row) {
    const std::string_view values = trace_.Text(trace_.host_ops.concrete_inputs[call]);
    const auto items = ArrayItems(values);
    const auto text_at = [&](std::size_t index) {
      return index < items.size() ? Unquoted(items[index]) : std::string_view();
    };
    row.sequence = ParseInteger(text_at(1)).value_or(-1);
    const auto group = UnsignedOf(text_at(2));
    const auto group_size =
        items.size() >= 8 ? ParseInteger(text_at(items.size() - 1)) : std::nullopt;
    if (group && *group != 0) {
      row.group = FindOrAdd(groups_, *group, [&] {
        return trace_.process_groups.Append(
            {.num_ranks = SmallOrUnknown(group_size.value_or(-1)), .communicator = *group});
      });
    }
    const std::string_view dims = trace_.Text(trace_.host_ops.input_dims[call]);
    row.in_elements = NumElements(ItemAt(dims, 0)).value_or(-1);
    row.data_type = TypeInList(trace_.Text(trace_.host_ops.input_types[call]));
    row.kind = trace::ParseCollectiveName(text_at(4)).value_or(CollectiveKind::kUnknown);
    row.name = trace_.strings.Intern(std::string(text_at(4)));
  }

  // The annotation "nccl:all_reduce" inside a call, or kNoRow.
  [[nodiscard]] RowId AnnotationIn(RowId call) const {
    const trace::Annotations& ranges = trace_.annotations;
    const std::int64_t begin_ns = trace_.host_ops.begin_ns[call];
    const std::int64_t end_ns = begin_ns + trace_.host_ops.duration_ns[call];
    auto at = static_cast<RowId>(std::ranges::lower_bound(ranges.begin_ns, begin_ns) -
                                 ranges.begin_ns.begin());
    for (; at < ranges.size() && ranges.begin_ns[at] <= end_ns; ++at) {
      if (ranges.track[at] == trace_.host_ops.track[call] &&
          trace_.Text(ranges.name[at]).starts_with("nccl:")) {
        return at;
      }
    }
    return kNoRow;
  }

  // Takes the kind from the annotation's name and the size from its shapes.
  void ReadAnnotation(RowId annotation, Collectives::Row& row) const {
    if (row.kind == CollectiveKind::kUnknown) {
      row.kind = trace::ParseCollectiveName(trace_.Text(trace_.annotations.name[annotation]))
                     .value_or(CollectiveKind::kUnknown);
    }
    const std::string_view extra = trace_.Text(trace_.annotations.extra[annotation]);
    const std::string_view dims = ExtraValue(extra, "Input Dims");
    if (row.in_elements < 0) {
      row.in_elements = NumElements(ItemAt(dims, 0)).value_or(-1);
    }
    if (row.data_type == DataType::kUnknown) {
      row.data_type = TypeInList(ExtraValue(extra, "Input type"));
    }
  }

  // The c10d operator of a call that went to the fake process group. The base forms take the
  // output buffer first.
  Collectives::Row DescribeFake(RowId op, CollectiveKind kind) {
    const std::string_view name = trace_.Text(trace_.host_ops.name[op]);
    const std::string_view dims = trace_.Text(trace_.host_ops.input_dims[op]);
    const auto first = NumElements(ItemAt(dims, 0));
    const auto second = NumElements(ItemAt(dims, 1));
    const bool output_first = name.starts_with("c10d::") && IsGatherLike(kind) && second;
    Collectives::Row row;
    row.begin_ns = trace_.host_ops.begin_ns[op];
    row.duration_ns = trace_.host_ops.duration_ns[op];
    row.name = trace_.host_ops.name[op];
    row.kind = kind;
    row.in_elements = (output_first ? second : first).value_or(-1);
    row.out_elements = output_first         ? first.value_or(-1)
                       : IsGatherLike(kind) ? -1
                                            : row.in_elements;
    row.data_type = TypeInList(trace_.Text(trace_.host_ops.input_types[op]));
    row.in_bytes = SizeInBytes(row.in_elements, row.data_type);
    row.out_bytes = SizeInBytes(row.out_elements, row.data_type);
    return row;
  }

  // Calls and kernels were added alternately; links follow the rows to their place in time.
  void Sort() {
    const Collectives& all = trace_.collectives;
    std::vector<RowId> order(all.size());
    std::iota(order.begin(), order.end(), RowId{0});
    std::ranges::stable_sort(
        order, {}, [&](RowId row) { return std::pair(all.begin_ns[row], -all.duration_ns[row]); });
    const std::vector<RowId> new_row = KeepRows(trace_.collectives, order);
    Renumber(trace_.activities.collective, new_row);
    Renumber(trace_.host_ops.collective, new_row);
  }

  // Drops unnamed groups without communication, which only waits refer to.
  void DropUnusedGroups() {
    trace::ProcessGroups& groups = trace_.process_groups;
    const std::set<RowId> used(trace_.collectives.group.begin(), trace_.collectives.group.end());
    std::vector<RowId> kept;
    for (RowId row = 0; row < groups.size(); ++row) {
      if (used.contains(row) || groups.name[row] != StringId::kEmpty) {
        kept.push_back(row);
      }
    }
    Renumber(trace_.collectives.group, KeepRows(groups, kept));
  }

  Trace& trace_;
  Collectives args_;
  tsl::robin_map<std::uint32_t, std::optional<trace::CommunicationKernel>> kernel_of_name_;
  StringId call_name_;
  tsl::robin_map<RowId, RowId> of_call_;
  tsl::robin_map<std::uint64_t, RowId> groups_;
  bool has_kernels_ = false;
  std::int64_t without_kernel_ = 0;
};

}  // namespace

void BuildCollectives(Trace& trace) {
  Builder(trace).Run();
}

}  // namespace orrery::ingest::kineto
