#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// The names that jobs and options take: GPUs, clusters, hosts, models, frameworks, metrics,
// formats, keys.

namespace orrery::api {

struct ListRequest {
  std::string what;  // one of ListedThings
  CallOptions call = {};
};

struct ListedGpu {
  std::string name;
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;
  std::optional<double> bf16_flops = {};
  std::optional<double> link_bytes_per_s = {};
  double power_w = 0;
  std::vector<std::string> measured_kinds = {};
  std::int64_t measured_rows = 0;
};

struct ListedCluster {
  std::string name;
  std::string gpu;
  int gpus_per_node = 0;
  std::string island;
  double island_bytes_per_s = 0;
  int island_gpus = 0;
  int nics_per_node = 0;
  std::string network;
  double nic_bytes_per_s = 0;
  std::string fabric;
};

/// A host; its times over those of the reference.
struct ListedHost {
  std::string name;
  std::string cpu;
  double operators = 1;
  double program = 1;
  double launches = 1;
  std::int64_t samples = 0;
  std::string source;
};

struct ListedModel {
  std::string name;
  std::int64_t parameters = 0;
  std::int64_t active_parameters = 0;
  std::optional<std::int64_t> layers = {};
  std::optional<std::int64_t> hidden = {};
  std::string also = {};
};

struct ListedFramework {
  std::string name;
  std::string fitted_with;
  std::string origin;
};

struct ListedMetric {
  std::string name;
  std::string unit;
  std::string meaning;
};

struct ListedFormat {
  std::string direction;
  std::string name;
  std::string about;
};

/// A key of a job file.
struct ListedKey {
  std::string name;
  std::string usual;  // the default
  std::string meaning;
  std::string type;
  std::optional<double> least = {};
  std::optional<double> most = {};
  std::vector<std::string> words = {};
  bool searched = false;
  // Names in training tools and in tables of published runs.
  std::string megatron = {};
  std::string nemo = {};
  std::string torchtitan = {};
  std::string deepspeed = {};
  std::string fsdp = {};
  std::string published = {};
};

/// The list that was requested; the others are empty.
struct ListResult {
  std::string what;
  std::vector<ListedGpu> gpus = {};
  std::vector<ListedCluster> clusters = {};
  std::vector<ListedHost> hosts = {};
  std::vector<ListedModel> models = {};
  std::vector<ListedFramework> frameworks = {};
  std::vector<ListedMetric> metrics = {};
  std::vector<ListedFormat> formats = {};
  std::vector<ListedKey> model_keys = {};
  std::vector<ListedKey> training_keys = {};
  std::vector<ListedKey> plan_keys = {};
  std::vector<ListedKey> framework_keys = {};
  Value job_schema = {};  // JSON Schema of a job file
};

[[nodiscard]] ORRERY_API Result<ListResult> List(const Session& session,
                                                 const ListRequest& request);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const ListResult& result);

/// "gpus", "clusters", ….
[[nodiscard]] ORRERY_API std::span<const std::string_view> ListedThings();

/// The names in a list of GPUs, clusters, hosts, models, frameworks or metrics, without loading
/// models.
[[nodiscard]] ORRERY_API std::vector<std::string> ListedNames(std::string_view what);

ORRERY_HAS_FIELDS(ListRequest);
ORRERY_HAS_FIELDS(ListedGpu);
ORRERY_HAS_FIELDS(ListedCluster);
ORRERY_HAS_FIELDS(ListedHost);
ORRERY_HAS_FIELDS(ListedModel);
ORRERY_HAS_FIELDS(ListedFramework);
ORRERY_HAS_FIELDS(ListedMetric);
ORRERY_HAS_FIELDS(ListedFormat);
ORRERY_HAS_FIELDS(ListedKey);
ORRERY_HAS_FIELDS(ListResult);

}  // namespace orrery::api
