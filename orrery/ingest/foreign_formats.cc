#include "orrery/ingest/foreign_formats.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/base/text.h"
#include "orrery/ingest/input_file.h"

namespace orrery::ingest {
namespace {

bool IsText(std::string_view head) {
  return std::none_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
}

// Protobuf messages in a row, each behind its length, the first one with string fields only.
bool IsChakra(std::string_view head) {
  return Contains(head, "is_cpu_op") || Contains(head, "comm_type") || Contains(head, "schema\xea");
}

std::string NotYet(std::string_view name) {
  return fmt::format("this is {}, which this version of Orrery does not read yet", name);
}

std::string DescribeJson(std::string_view head) {
  if (Contains(head, "\"workload_graph\"")) {
    return NotYet("a Chakra trace as JSON");
  }
  if (Contains(head, "\"segments\"") && Contains(head, "\"device_traces\"")) {
    return "this is a memory snapshot of PyTorch as JSON: give Orrery the pickle it was made from";
  }
  return "this is JSON, but neither a Kineto trace (no \"traceEvents\") nor a PyTorch execution "
         "trace (no \"schema\" and \"nodes\")";
}

}  // namespace

std::string DescribeForeignFile(const InputFile& file) {
  const std::string_view head = file.head();
  if (head.empty()) {
    return "the file is empty";
  }
  if (head.starts_with("SQLite format 3")) {
    return "this is an SQLite database, but neither an export of Nsight Systems (no "
           "CUPTI_ACTIVITY_KIND_* table and no META_DATA_EXPORT) nor one of rocprofv3 (no rocpd_* "
           "table)";
  }
  if (head.size() > 262 && head.substr(257, 5) == "ustar") {
    return "this is a tar archive: unpack it and give Orrery the folder";
  }
  if (head.starts_with("PK\x03\x04")) {
    return "this is a zip archive: unpack it and give Orrery the folder";
  }
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  if (first == std::string_view::npos) {
    return "the file holds nothing but blanks";
  }
  if (head[first] == '{' || head[first] == '[') {
    return DescribeJson(head);
  }
  if (!IsText(head) && IsChakra(head)) {
    return NotYet("a Chakra execution trace");
  }
  if (Contains(head, "\"ID\",\"Process ID\"") ||
      Contains(head, "\"Process ID\",\"Kernel Name\",\"Invocations\"")) {
    return NotYet("a CSV table of Nsight Compute");
  }
  return "Orrery does not recognise this file; it reads Kineto JSON, PyTorch execution traces, "
         "Nsight Systems SQLite exports, XPlane recordings, rocprofv3 tables, memory snapshots and "
         "timelines of PyTorch, NVBit's mem_trace, nccl-tests logs, NVLink counters, benchmark "
         "results, workload cards, .orr and .orrs files";
}

}  // namespace orrery::ingest
