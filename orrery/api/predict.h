#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// The time of single operators on a GPU, of a collective on a cluster, and of a kernel that runs
// beside communication.

namespace orrery::api {

struct PredictKernelsRequest {
  std::vector<std::string> operators;  // "gemm m=4096 n=4096 k=4096 bf16"
  std::string gpu;
  bool sustained = false;
  double power = 0;                      // W, with sustained; 0: the GPU's own limit
  std::vector<std::string> models = {};  // files; empty: the shipped ones
  CallOptions call = {};
};

struct PredictedKernel {
  std::string op;
  std::string gpu;
  double time_s = 0;
  double low_s = 0;
  double high_s = 0;
  double uncertainty = 0;
  double roofline_s = 0;
  double flops = 0;
  double bytes = 0;
  std::string source;
  bool extrapolated = false;
  std::optional<std::string> alignment_from = {};
  bool is_memory_bound = false;  // by the roofline; not part of the JSON
};

struct PredictKernelsResult {
  std::vector<PredictedKernel> kernels;
};

struct PredictCollectiveRequest {
  std::string collective;  // "allreduce 64MiB bf16"
  std::string cluster = {};
  int gpus = 0;
  int gpus_per_node = 0;  // 0: all
  std::string env = {};   // variables of NCCL: "NCCL_ALGO=Ring"
  std::string nccl = {};  // version; empty: the model's
  std::string model = {};
  std::string matrix = {};    // file of an uneven all-to-all
  std::string emulate = {};   // name of another simulator
  std::string settings = {};  // of it
  bool flow = false;
  CallOptions call = {};
};

struct PredictCollectiveResult {
  std::string collective;
  std::optional<double> bytes = {};
  std::optional<std::string> played = {};  // simulator that was emulated
  std::optional<int> gpus = {};
  std::optional<std::string> cluster = {};
  std::optional<double> time_s = {};
  std::optional<double> low_s = {};
  std::optional<double> high_s = {};
  std::optional<std::string> algorithm = {};
  std::optional<std::string> protocol = {};
  std::optional<int> channels = {};
  std::optional<double> algorithm_gb_per_s = {};
  std::optional<double> bus_gb_per_s = {};
  std::optional<std::string> bottleneck = {};
  std::optional<std::string> model = {};
  std::optional<std::string> model_machine = {};
  std::optional<std::string> model_source = {};
  std::optional<double> busiest_link_bytes = {};  // of an uneven all-to-all
  std::optional<double> busiest_nic_bytes = {};
  std::optional<double> time_ns = {};  // of an emulated simulator
  std::int64_t model_gpus = 0;         // most GPUs of the model's measurements; not in the JSON
};

struct PredictOverlapRequest {
  std::string op;  // of the kernel
  std::string gpu;
  double alone_us = 0;       // measured; 0: predicted
  std::int64_t blocks = 16;  // of communication
  double gbps = 0;           // of the communication alone
  std::string pattern = "reduce_copy";
  std::string place = "hbm";
  std::string priority = "same";
  // Launch of the kernel; 0: not known.
  std::int64_t grid = 0;
  int block = 0;
  int registers = 0;
  int shared = 0;
  std::string model = {};  // file; empty: the shipped one
  CallOptions call = {};
};

struct PredictOverlapResult {
  std::string op;
  std::string gpu;
  double alone_us = 0;
  double together_us = 0;
  double low_us = 0;
  double high_us = 0;
  double stretch = 1;
  double communication_stretch = 1;
  double analytic_stretch = 1;
  double memory_load = 0;
  double wait_at_half_us = 0;

  // Not part of the JSON.
  double analytic_room = 1;
  double analytic_memory = 1;
  std::string communication;  // "16 blocks of communication (reduce_copy, 100 GB/s)"
};

[[nodiscard]] ORRERY_API Result<PredictKernelsResult> PredictKernels(
    const Session& session, const PredictKernelsRequest& request);

[[nodiscard]] ORRERY_API Result<PredictCollectiveResult> PredictCollective(
    const Session& session, const PredictCollectiveRequest& request);

[[nodiscard]] ORRERY_API Result<PredictOverlapResult> PredictOverlap(
    const Session& session, const PredictOverlapRequest& request);

/// One operator is an object in JSON, several are a list.
[[nodiscard]] ORRERY_API report::Document MakeDocument(const PredictKernelsResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const PredictCollectiveResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const PredictOverlapResult& result);

template <>
struct FieldList<PredictKernelsRequest> {
  ORRERY_API static std::span<const Field<PredictKernelsRequest>> Get();
};

template <>
struct FieldList<PredictedKernel> {
  ORRERY_API static std::span<const Field<PredictedKernel>> Get();
};

template <>
struct FieldList<PredictKernelsResult> {
  ORRERY_API static std::span<const Field<PredictKernelsResult>> Get();
};

template <>
struct FieldList<PredictCollectiveRequest> {
  ORRERY_API static std::span<const Field<PredictCollectiveRequest>> Get();
};

template <>
struct FieldList<PredictCollectiveResult> {
  ORRERY_API static std::span<const Field<PredictCollectiveResult>> Get();
};

template <>
struct FieldList<PredictOverlapRequest> {
  ORRERY_API static std::span<const Field<PredictOverlapRequest>> Get();
};

template <>
struct FieldList<PredictOverlapResult> {
  ORRERY_API static std::span<const Field<PredictOverlapResult>> Get();
};

}  // namespace orrery::api
