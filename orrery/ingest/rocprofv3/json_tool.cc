#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/csv_rows.h"
#include "orrery/ingest/rocprofv3/process.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::rocprofv3 {
namespace {

using Json = std::optional<JsonElement>;

// Ids are {"handle": 7}; addresses are that, a number, or text with 0x.
std::int64_t NumberOf(const Json& value) {
  if (const auto handle = Field(value, "handle")) {
    return NumberOf(handle);
  }
  if (const auto text = Text(value)) {
    return DecimalOrHex(*text).value_or(-1);
  }
  return Integer(value).value_or(-1);
}

struct Symbol {
  std::string_view name;
  std::int64_t registers = -1;
};

constexpr std::array<std::string_view, 6> kCallBuffers{"hip_api",  "hsa_api",       "marker_api",
                                                       "rccl_api", "rocdecode_api", "rocjpeg_api"};

class ToolReader {
 public:
  ToolReader(const JsonElement& process, trace::Trace& trace)
      : process_(process), trace_(trace), rows_(trace) {}

  void Read() {
    ReadMetadata();
    ReadAgents();
    ReadSymbols();
    const Json buffers = Field(process_, "buffer_records");
    ForEachElement(Field(buffers, "kernel_dispatch"), [&](const Json& it) { AddDispatch(it); });
    ForEachElement(Field(buffers, "memory_copy"), [&](const Json& it) { AddCopy(it); });
    ForEachElement(Field(buffers, "memory_allocation"), [&](const Json& it) { AddMemory(it); });
    for (const std::string_view buffer : kCallBuffers) {
      ForEachElement(Field(buffers, buffer), [&](const Json& it) { AddCall(it); });
    }
    for (const std::string_view left :
         {"scratch_memory", "pc_sample_host_trap", "pc_sample_stochastic"}) {
      trace_.problems.Note("record of a kind that is not imported",
                           static_cast<std::int64_t>(ArraySize(Field(buffers, left))), left);
    }
    rows_.Finish();
  }

 private:
  void ReadMetadata() {
    const Json metadata = Field(process_, "metadata");
    const Json node = Field(metadata, "node");
    process_number_ = Integer(Field(metadata, "pid")).value_or(0);
    trace_.info.host_name = std::string(Text(Field(node, "hostname")).value_or(""));
    trace_.metadata.Append({.key = trace_.strings.Intern("process"),
                            .value = trace_.strings.Intern(std::to_string(process_number_))});
  }

  void ReadAgents() {
    ForEachElement(Field(process_, "agents"), [&](const Json& agent) {
      const std::int32_t number = SmallInteger(Field(agent, "logical_node_id"));
      agent_of_handle_[NumberOf(Field(agent, "id"))] = number;
      const auto product = Text(Field(agent, "product_name"));
      const Json bank = ElementAt(Field(agent, "mem_banks"), 0);
      rows_.Add(Agent{.number = number,
                      .is_gpu = Integer(Field(agent, "type")) == 2,
                      .name = product.value_or(Text(Field(agent, "name")).value_or("")),
                      .memory_bytes = Integer(Field(bank, "size_in_bytes")).value_or(-1),
                      .compute_units = SmallInteger(Field(agent, "cu_count"))});
    });
  }

  void ReadSymbols() {
    ForEachElement(Field(process_, "kernel_symbols"), [&](const Json& symbol) {
      const auto formatted = Text(Field(symbol, "formatted_kernel_name"));
      symbol_of_id_[NumberOf(Field(symbol, "kernel_id"))] = {
          .name = formatted.value_or(Text(Field(symbol, "kernel_name")).value_or("")),
          .registers = Integer(Field(symbol, "arch_vgpr_count")).value_or(-1)};
    });
  }

  std::optional<TimeSpan> TimeSpanOf(const Json& record) {
    const auto time = MakeTimeSpan(
        Integer(Field(record, "start_timestamp")), Integer(Field(record, "end_timestamp")),
        Integer(Field(Field(record, "correlation_id"), "internal")).value_or(-1));
    if (!time) {
      trace_.problems.Loss("record without a usable time");
    }
    return time;
  }

  std::int32_t AgentAt(const Json& record, std::string_view key) {
    return FindOr(agent_of_handle_, NumberOf(Field(record, key)), -1);
  }

  static std::array<std::int64_t, 3> SizeAt(const Json& record, std::string_view key) {
    const Json size = Field(record, key);
    return {NumberOf(Field(size, "x")), NumberOf(Field(size, "y")), NumberOf(Field(size, "z"))};
  }

  void AddDispatch(const Json& record) {
    const auto time = TimeSpanOf(record);
    if (!time) {
      return;
    }
    const Json info = Field(record, "dispatch_info");
    const Symbol symbol = SymbolOf(NumberOf(Field(info, "kernel_id")));
    const Json stream = Field(record, "stream_id");
    rows_.Add(Dispatch{.time = *time,
                       .agent = AgentAt(info, "agent_id"),
                       .stream = NumberOf(stream ? stream : Field(info, "queue_id")),
                       .name = symbol.name,
                       .work_items = SizeAt(info, "grid_size"),
                       .workgroup = SizeAt(info, "workgroup_size"),
                       .registers = symbol.registers,
                       .shared_bytes = NumberOf(Field(info, "group_segment_size"))});
  }

  // By id and not by place; one that is missing is shown by its number.
  Symbol SymbolOf(std::int64_t id) {
    const auto known = symbol_of_id_.find(id);
    if (known != symbol_of_id_.end()) {
      return known->second;
    }
    trace_.problems.Loss("kernel whose name is not in the file");
    const StringId name = trace_.strings.Intern(fmt::format("kernel {}", id));
    return {.name = trace_.Text(name)};
  }

  void AddCopy(const Json& record) {
    if (const auto time = TimeSpanOf(record)) {
      rows_.Add(Copy{.time = *time,
                     .direction = OperationOf(record),
                     .source = AgentAt(record, "src_agent_id"),
                     .destination = AgentAt(record, "dst_agent_id"),
                     .stream = NumberOf(Field(record, "stream_id")),
                     .bytes = Integer(Field(record, "bytes")).value_or(-1)});
    }
  }

  void AddMemory(const Json& record) {
    const std::int64_t address = NumberOf(Field(record, "address"));
    const auto time = TimeSpanOf(record);
    if (time && address >= 0) {
      rows_.Add(Allocation{.time = *time,
                           .operation = OperationOf(record),
                           .agent = AgentAt(record, "agent_id"),
                           .bytes = Integer(Field(record, "allocation_size")).value_or(0),
                           .address = address});
    } else if (time) {
      trace_.problems.Loss("allocation without a usable address");
    }
  }

  void AddCall(const Json& record) {
    if (const auto time = TimeSpanOf(record)) {
      rows_.Add(Call{.time = *time,
                     .domain = Text(Field(KindOf(record), "kind")).value_or(""),
                     .function = OperationOf(record),
                     .process = process_number_,
                     .thread = NumberOf(Field(record, "thread_id"))});
    }
  }

  // The file has the names of its kinds and operations.
  Json KindOf(const Json& record) {
    const std::int64_t kind = NumberOf(Field(record, "kind"));
    return kind < 0 ? Json()
                    : ElementAt(Field(Field(process_, "strings"), "buffer_records"),
                                static_cast<std::size_t>(kind));
  }

  std::string_view OperationOf(const Json& record) {
    const std::int64_t operation = NumberOf(Field(record, "operation"));
    const Json names = Field(KindOf(record), "operations");
    const auto name =
        operation < 0 ? std::nullopt : Text(ElementAt(names, static_cast<std::size_t>(operation)));
    return name.value_or("");
  }

  Json process_;
  trace::Trace& trace_;
  ProcessRows rows_;
  std::int64_t process_number_ = 0;
  tsl::robin_map<std::int64_t, std::int32_t> agent_of_handle_;
  tsl::robin_map<std::int64_t, Symbol> symbol_of_id_;
};

}  // namespace

void ReadProcess(const JsonElement& process, trace::Trace& trace) {
  ToolReader(process, trace).Read();
}

}  // namespace orrery::ingest::rocprofv3
