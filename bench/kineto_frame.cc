#include "bench/kineto_frame.h"

#include <string>

#include <fmt/format.h>

#include "bench/kineto_writer.h"
#include "bench/output_file.h"

namespace orrery::bench {

std::string RanksOfGroup(int rank) {
  const int first = rank / kGroupSize * kGroupSize;
  std::string ranks;
  for (int member = first; member < first + kGroupSize; ++member) {
    ranks += fmt::format("{}{}", ranks.empty() ? "[" : ", ", member);
  }
  return ranks + "]";
}

void WriteKinetoFrame(const KinetoFileOptions& options, TextWriter& out) {
  out.Text("\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n");
  for (int device = 0; device < 8; ++device) {
    out.Text(fmt::format(
        "    {{\n      \"id\": {}, \"name\": \"NVIDIA H200\", \"totalGlobalMem\": "
        "150109880320,\n      \"computeMajor\": 9, \"computeMinor\": 0,\n      "
        "\"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      "
        "\"regsPerBlock\": 65536, \"warpSize\": 32,\n      \"sharedMemPerBlock\": 49152, "
        "\"numSms\": 132\n    }}{}\n",
        device, device < 7 ? "," : ""));
  }
  out.Text(fmt::format(
      "    ],\n      \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": "
      "{}, \"pg_count\": 1, \"pg_config\": [{{\"pg_name\": \"1\", \"pg_desc\": "
      "\"tensor_parallel\", \"backend_config\": \"cuda:nccl\", \"pg_size\": 8, \"ranks\": {}}}], "
      "\"nccl_version\": \"2.27.3\"}},\n",
      options.rank, options.world_size, RanksOfGroup(options.rank)));
  out.Text(
      "      \"record_shapes\": 1,\n      \"profile_memory\": 1,\n      \"with_stack\": 1,\n     "
      " "
      "\"cuda_driver_version\": 13000,\n      \"cuda_runtime_version\": 13000,\n      "
      "\"cupti_version\": 130001,\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": "
      "1790857026000000000,\n  \"traceEvents\": [\n");
}

}  // namespace orrery::bench
