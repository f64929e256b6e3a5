#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/uvm_page.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/format.h"
#include "orrery/memory/names.h"
#include "orrery/memory/uvm/collect.h"
#include "orrery/memory/uvm/residency.h"
#include "orrery/memory/uvm/simulation.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::api {
namespace {

using memory::uvm::Basis;
using memory::uvm::Comparison;
using memory::uvm::Movement;
using memory::uvm::Object;
using memory::uvm::Operator;
using memory::uvm::Outcome;
using memory::uvm::RelativeTime;
using memory::uvm::Root;
using memory::uvm::Workload;
using Cells = std::vector<Value>;

const Workload& WorkloadOf(const UvmCase& one) {
  return one.run->collected.workload;
}

Document::Table TableOf(std::string key, std::string heading,
                        std::vector<Document::Column> columns) {
  Document::Table table{.key = std::move(key), .heading = std::move(heading)};
  table.columns = {AsText("recording", "recording"), AsText("memory", "memory")};
  table.columns.insert(table.columns.end(), columns.begin(), columns.end());
  return table;
}

void AddRow(Document::Table& table, const UvmCase& one, const Cells& cells) {
  Cells row = {one.run->title, UvmMemoryText(one)};
  row.insert(row.end(), cells.begin(), cells.end());
  table.rows.push_back(std::move(row));
}

void AddOutcome(Document::Table& table, const UvmCase& one, const Outcome& outcome) {
  const std::int64_t page_bytes = WorkloadOf(one).page_bytes;
  const Movement moved = outcome.Moved();
  AddRow(table, one,
         {memory::uvm::PolicyName(outcome.policy), RelativeTime(one.comparison, outcome.total_ns),
          outcome.total_ns, outcome.StallNs(), outcome.faults.faults, outcome.faults.batches,
          outcome.faults.blocks, moved.pages_in, moved.pages_copied * page_bytes,
          moved.pages_out * page_bytes, moved.evictions, outcome.bounced_blocks,
          one.comparison.options.capacity_bytes});
}

void AddOracle(Document::Table& table, const UvmCase& one) {
  const std::int64_t page_bytes = WorkloadOf(one).page_bytes;
  const Comparison& comparison = one.comparison;
  AddRow(table, one,
         {"oracle", RelativeTime(comparison, comparison.oracle_ns), comparison.oracle_ns, Value(),
          Value(), Value(), Value(), comparison.oracle.pages_in,
          comparison.oracle.pages_copied * page_bytes, comparison.oracle.pages_out * page_bytes,
          Value(), Value(), comparison.options.capacity_bytes});
}

// One column for each policy that tables of operators and objects compare.
std::vector<Document::Column> ColumnsOfPolicies(std::string_view key, Unit unit) {
  std::vector<Document::Column> columns;
  for (const std::string_view policy : {"none", "driver", "object", "tensor", "best"}) {
    columns.push_back({fmt::format("{}_{}", policy, key),
                       policy == "best" ? "tensor+k" : std::string(policy), unit});
  }
  return columns;
}

// Places of `values`, the largest first.
std::vector<std::size_t> LargestFirst(const std::vector<std::int64_t>& values) {
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places,
                           [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return places;
}

void AddOperators(Document::Table& table, const UvmCase& one) {
  const auto& outcomes = one.comparison.outcomes;
  std::vector<std::int64_t> stalls;
  for (const auto& figures : outcomes.front().of_operator) {
    stalls.push_back(figures.stall_ns);
  }
  for (const std::size_t place : LargestFirst(stalls)) {
    const Operator& op = WorkloadOf(one).operators[place];
    Cells cells{op.name, op.occurrence, outcomes.front().of_operator[place].kernel_ns};
    for (const Outcome& outcome : outcomes) {
      cells.emplace_back(outcome.of_operator[place].stall_ns);
    }
    AddRow(table, one, cells);
  }
}

void AddObjects(Document::Table& table, const UvmCase& one) {
  const auto& outcomes = one.comparison.outcomes;
  const Workload& workload = WorkloadOf(one);
  std::vector<std::int64_t> pages_in;
  for (const Movement& moved : outcomes.front().of_root) {
    pages_in.push_back(moved.pages_in);
  }
  for (const std::size_t place : LargestFirst(pages_in)) {
    const Root& root = workload.roots[place];
    Cells cells{memory::ObjectLabel(*one.run->trace, root.row),
                one.run->trace->memory_objects.bytes[root.row],
                pages_in[place] * workload.page_bytes};
    for (const Outcome& outcome : outcomes) {
      cells.emplace_back(outcome.of_root[place].bounces);
    }
    AddRow(table, one, cells);
  }
}

void AddSchedule(Document::Table& table, const UvmRun& run) {
  const Workload& workload = run.collected.workload;
  for (std::size_t op = 0; op < workload.operators.size(); ++op) {
    for (const std::size_t index : workload.operators[op].objects) {
      const Object& object = workload.objects[index];
      const bool is_alive = object.first_operator <= op && op < object.end_operator;
      const std::size_t container = object.container;
      table.rows.push_back(
          {run.title, workload.operators[op].name, workload.operators[op].occurrence,
           static_cast<std::int64_t>(index), memory::ObjectLabel(*run.trace, object.row),
           run.trace->memory_objects.bytes[object.row], static_cast<std::int64_t>(container),
           static_cast<std::int64_t>(is_alive ? 1 : 0)});
    }
  }
}

bool IsFirstOfRun(const std::vector<UvmCase>& cases, std::size_t place) {
  return place == 0 || cases[place - 1].run != cases[place].run;
}

Document::Table PolicyTable(const std::vector<UvmCase>& cases) {
  Document::Table table =
      TableOf("policies", "prefetch of managed memory",
              {AsText("policy", "prefetch"), AsRatio("relative_time", "to none"),
               AsTime("total_ns", "time"), AsTime("stall_ns", "stall"), AsCount("faults", "faults"),
               AsCount("batches", "batches"), AsCount("fault_blocks", "blocks"),
               AsCount("pages_in", "pages in"), AsBytes("copied_in_bytes", "copied in"),
               AsBytes("copied_out_bytes", "copied out"), AsCount("evictions", "evictions"),
               AsCount("bounced_blocks", "bounced"), AsBytes("capacity_bytes", "capacity")});
  for (const UvmCase& one : cases) {
    for (const Outcome& outcome : one.comparison.outcomes) {
      if (&outcome != &one.comparison.Best() || outcome.policy.lookahead > 0) {
        AddOutcome(table, one, outcome);
      }
    }
    AddOracle(table, one);
  }
  table.caption =
      "oracle: no prefetch and no eviction can need fewer pages in, or less time; a bound, not a "
      "policy";
  return table;
}

Document::Table LookaheadTable(const std::vector<UvmCase>& cases) {
  Document::Table table =
      TableOf("lookaheads", "tensor level, operators ahead",
              {AsCount("lookahead", "operators"), AsRatio("relative_time", "to none"),
               AsTime("total_ns", "time")});
  for (const UvmCase& one : cases) {
    for (const Outcome& outcome : one.comparison.lookaheads) {
      AddRow(table, one,
             {static_cast<std::int64_t>(outcome.policy.lookahead),
              RelativeTime(one.comparison, outcome.total_ns), outcome.total_ns});
    }
  }
  return table;
}

Document::Table OperatorTable(const std::vector<UvmCase>& cases, std::size_t top) {
  std::vector<Document::Column> columns = {AsText("operator", "operator"),
                                           AsCount("occurrence", "occurrence"),
                                           AsTime("kernel_ns", "kernels")};
  const auto policies = ColumnsOfPolicies("stall_ns", Unit::kNanoseconds);
  columns.insert(columns.end(), policies.begin(), policies.end());
  Document::Table table = TableOf("operators", "stall by operator and prefetch", columns);
  table.max_shown = top;
  for (const UvmCase& one : cases) {
    AddOperators(table, one);
  }
  return table;
}

Document::Table ObjectTable(const std::vector<UvmCase>& cases, std::size_t top) {
  std::vector<Document::Column> columns = {AsText("object", "object"), AsBytes("bytes", "bytes"),
                                           AsBytes("none_in_bytes", "in (none)")};
  const auto policies = ColumnsOfPolicies("bounces", Unit::kCount);
  columns.insert(columns.end(), policies.begin(), policies.end());
  Document::Table table = TableOf("objects", "chunks that bounced by object and prefetch", columns);
  table.max_shown = top;
  for (const UvmCase& one : cases) {
    AddObjects(table, one);
  }
  return table;
}

Document::Table ScheduleTable(const std::vector<UvmCase>& cases) {
  Document::Table table{
      .key = "schedule",
      .heading = "what operators touch, as a replay would prefetch it",
      .columns = {AsText("recording", "recording"), AsText("operator", "operator"),
                  AsCount("occurrence", "occurrence"), AsCount("object", "object"),
                  AsText("name", "name"), AsBytes("bytes", "bytes"), AsCount("segment", "segment"),
                  AsCount("alive_at_begin", "alive at begin")},
      .max_shown = 0};
  for (std::size_t place = 0; place < cases.size(); ++place) {
    if (IsFirstOfRun(cases, place)) {
      AddSchedule(table, *cases[place].run);
    }
  }
  return table;
}

Document::Table BasisTable(const std::vector<UvmCase>& cases) {
  Document::Table table{
      .key = "basis",
      .heading = "what was simulated",
      .columns = {
          AsText("recording", "recording"), AsText("gpu", "GPU"),
          AsBytes("footprint_bytes", "footprint"), AsShare("segment_use", "segments used"),
          AsBytes("operator_segment_bytes", "of an operator"), AsCount("works", "works"),
          AsCount("works_blind", "without touch"), AsCount("works_elsewhere", "elsewhere"),
          AsCount("works_before", "before steps"), AsCount("touches_by_page", "by page"),
          AsCount("touches_by_extent", "by extent"), AsCount("touches_whole", "whole objects"),
          AsCount("touches_by_argument", "by argument"), AsCount("touches_left_out", "left out"),
          AsCount("durations_modelled", "times modelled")}};
  for (std::size_t place = 0; place < cases.size(); ++place) {
    const UvmRun& run = *cases[place].run;
    const Basis& basis = run.collected.basis;
    if (IsFirstOfRun(cases, place)) {
      table.rows.push_back(
          {run.title, run.gpu->name + (run.is_gpu_assumed ? " (assumed)" : ""),
           run.collected.workload.footprint_bytes, SegmentUse(run.collected.workload),
           MeanSegmentBytes(run.collected.workload), basis.works, basis.works_without_touches,
           basis.works_elsewhere, basis.works_before, basis.touches_by_page,
           basis.touches_by_extent, basis.touches_whole, basis.touches_by_argument,
           basis.touches_left_out, basis.durations_modelled});
    }
  }
  return table;
}

}  // namespace

std::string UvmMemoryText(const UvmCase& one) {
  return one.factor > 0 ? fmt::format("footprint / {}", one.factor)
                        : draw::FormatBinaryBytes({one.comparison.options.capacity_bytes});
}

std::vector<Document::Table> UvmTables(const std::vector<UvmCase>& cases, std::size_t top) {
  return {PolicyTable(cases),      LookaheadTable(cases), OperatorTable(cases, top),
          ObjectTable(cases, top), BasisTable(cases),     ScheduleTable(cases)};
}

}  // namespace orrery::api
