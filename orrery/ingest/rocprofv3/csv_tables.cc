#include "orrery/ingest/rocprofv3/csv_tables.h"

#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/core.h>

namespace orrery::ingest::rocprofv3 {
namespace {

// "Agent 4", "4" or nothing, which frees have.
std::int32_t AgentNumber(std::string_view text) {
  const std::size_t blank = text.find_last_of(' ');
  const auto number = DecimalOrHex(blank == std::string_view::npos ? text : text.substr(blank + 1));
  const bool fits = number && *number >= 0 && *number <= std::numeric_limits<std::int32_t>::max();
  return fits ? static_cast<std::int32_t>(*number) : -1;
}

std::optional<Moment> MomentOf(const CsvRows& rows) {
  return MomentBetween(rows.Integer("Start_Timestamp"), rows.Integer("End_Timestamp"),
                       rows.Integer("Correlation_Id").value_or(-1));
}

std::int64_t FirstOf(const CsvRows& rows, std::string_view column, std::string_view other) {
  const auto value = rows.Integer(column);
  return value ? *value : rows.Integer(other).value_or(-1);
}

void AddKernel(const CsvRows& rows, const Moment& moment, ProcessRows& process) {
  const auto number = [&](std::string_view column) { return rows.Integer(column).value_or(-1); };
  process.Add(
      Dispatch{.moment = moment,
               .agent = AgentNumber(rows.Text("Agent_Id")),
               .stream = FirstOf(rows, "Stream_Id", "Queue_Id"),
               .name = rows.Text("Kernel_Name"),
               .work_items = {number("Grid_Size_X"), number("Grid_Size_Y"), number("Grid_Size_Z")},
               .workgroup = {number("Workgroup_Size_X"), number("Workgroup_Size_Y"),
                             number("Workgroup_Size_Z")},
               .registers = number("VGPR_Count"),
               .shared_bytes = FirstOf(rows, "LDS_Block_Size", "Group_Segment_Size")});
}

void AddCopy(const CsvRows& rows, const Moment& moment, ProcessRows& process) {
  process.Add(Copy{.moment = moment,
                   .direction = rows.Text("Direction"),
                   .source = AgentNumber(rows.Text("Source_Agent_Id")),
                   .destination = AgentNumber(rows.Text("Destination_Agent_Id")),
                   .stream = rows.Integer("Stream_Id").value_or(0),
                   .bytes = FirstOf(rows, "Bytes", "Size")});
}

// False for an allocation that cannot be used.
bool AddAllocation(const CsvRows& rows, const Moment& moment, ProcessRows& process) {
  const auto bytes = rows.Integer("Allocation_Size");
  const auto address = rows.Integer("Address");
  if (!bytes || !address || *bytes < 0 || *address < 0) {
    return false;
  }
  process.Add(Allocation{.moment = moment,
                         .operation = rows.Text("Operation"),
                         .agent = AgentNumber(rows.Text("Agent_Id")),
                         .bytes = *bytes,
                         .address = *address});
  return true;
}

void AddCall(const CsvRows& rows, const Moment& moment, ProcessRows& process) {
  process.Add(Call{.moment = moment,
                   .domain = rows.Text("Domain"),
                   .function = rows.Text("Function"),
                   .process = rows.Integer("Process_Id").value_or(0),
                   .thread = rows.Integer("Thread_Id").value_or(0)});
}

void AddAgent(const CsvRows& rows, ProcessRows& process) {
  const std::string_view product = rows.Text("Product_Name");
  process.Add(Agent{.number = AgentNumber(rows.Text(
                        rows.HasColumn("Logical_Node_Id") ? "Logical_Node_Id" : "Node_Id")),
                    .is_gpu = rows.Text("Agent_Type") == "GPU",
                    .name = product.empty() ? rows.Text("Name") : product,
                    .compute_units = AgentNumber(rows.Text("Cu_Count"))});
}

bool AddRow(CsvTable table, const CsvRows& rows, ProcessRows& process) {
  if (table == CsvTable::kAgents) {
    AddAgent(rows, process);
    return true;
  }
  const auto moment = MomentOf(rows);
  if (!moment) {
    return false;
  }
  switch (table) {
    case CsvTable::kKernels:
      AddKernel(rows, *moment, process);
      return true;
    case CsvTable::kCopies:
      AddCopy(rows, *moment, process);
      return true;
    case CsvTable::kCalls:
      AddCall(rows, *moment, process);
      return true;
    case CsvTable::kAllocations:
      return AddAllocation(rows, *moment, process);
    case CsvTable::kAgents:
    case CsvTable::kNone:
      break;
  }
  return false;
}

}  // namespace

CsvTable TableOf(const CsvRows& rows) {
  const auto has = [&](std::string_view column) { return rows.HasColumn(column); };
  if (has("Agent_Type") && has("Node_Id")) {
    return CsvTable::kAgents;
  }
  if (!has("Start_Timestamp") || !has("End_Timestamp")) {
    return CsvTable::kNone;
  }
  if (has("Counter_Name")) {
    return CsvTable::kNone;
  }
  return has("Kernel_Name") && has("Agent_Id")        ? CsvTable::kKernels
         : has("Direction")                           ? CsvTable::kCopies
         : has("Allocation_Size") && has("Operation") ? CsvTable::kAllocations
         : has("Domain") && has("Function")           ? CsvTable::kCalls
                                                      : CsvTable::kNone;
}

Status ReadTable(CsvTable table, CsvRows& rows, ProcessRows& process, trace::ProblemLog& problems) {
  while (true) {
    ORRERY_TRY(const bool has_row, rows.Next());
    if (!has_row) {
      return {};
    }
    if (!AddRow(table, rows, process)) {
      problems.Loss("row that makes no sense", 1, fmt::format("line {}", rows.line()));
    }
  }
}

}  // namespace orrery::ingest::rocprofv3
