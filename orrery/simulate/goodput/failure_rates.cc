#include "orrery/simulate/goodput/failure_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/text/duration_text.h"
#include "orrery/base/text/table.h"
#include "orrery/simulate/goodput/embedded_failures.h"

namespace orrery::simulate {
namespace {

constexpr double kSecondsOfDay = 86'400;
constexpr int kMostNodesLost = 1'000'000;

constexpr std::array<Spelling<FailureUnit>, 4> kUnits{{
    {"gpu", FailureUnit::kGpu},
    {"nic", FailureUnit::kNic},
    {"node", FailureUnit::kNode},
    {"job", FailureUnit::kJob},
}};

double ReadTime(YamlFields& fields, std::string_view key) {
  const std::string text = fields.Text(key);
  const Result<double> seconds = ParseSeconds(text);
  if (!seconds || *seconds <= 0) {
    fields.Wrong(key, "must be a time above zero, such as 1d", text);
    return 1;
  }
  return *seconds;
}

struct Observed {
  UnitCounts counts;
  double days = 0;
};

Observed ReadObserved(YamlFields& fields) {
  Observed observed;
  if (!fields.Has("observed")) {
    fields.Expect({"observed"});
    return observed;
  }
  YamlFields map = fields.Map("observed");
  observed.counts = {.gpus = map.Size("gpus", 0, 0),
                     .nics = map.Size("nics", 0, 0),
                     .nodes = map.Size("nodes", 0, 0)};
  observed.days = map.Positive("days");
  map.RefuseOthers();
  return observed;
}

// Of one unit.
double ReadRate(YamlFields& fields, FailureUnit per, const Observed& observed) {
  fields.Expect({"count", "per_1000_days", "mtbf"});
  if (fields.Has("mtbf")) {
    return kSecondsOfDay / ReadTime(fields, "mtbf");
  }
  if (fields.Has("per_1000_days")) {
    return fields.Positive("per_1000_days") / 1000;
  }
  const double count = fields.Positive("count");
  const auto unit_days = static_cast<double>(observed.counts.Of(per)) * observed.days;
  if (unit_days <= 0) {
    fields.Wrong("count", "needs `observed` with `days` and the number of what it is per",
                 fields.Text("count"));
    return 1;
  }
  return count / unit_days;
}

FailureCause ReadCause(YamlFields& fields, const Observed& observed) {
  FailureCause cause;
  cause.name = fields.Text("name");
  cause.part = fields.Choice("part", std::span<const Spelling<FailedPart>>(kFailedParts));
  cause.per = fields.Choice("per", std::span<const Spelling<FailureUnit>>(kUnits));
  cause.per_day = ReadRate(fields, cause.per, observed);
  cause.nodes_lost = fields.Count("nodes_lost", 0, 0);
  cause.is_planned = fields.Flag("planned", false);
  fields.RefuseOthers();
  return cause;
}

FailureRates ReadSet(YamlFields& fields) {
  FailureRates rates;
  rates.name = fields.Text("name");
  const Observed observed = ReadObserved(fields);
  rates.repair_s = ReadTime(fields, "repair");
  for (YamlFields& cause : fields.Maps("causes")) {
    rates.causes.push_back(ReadCause(cause, observed));
  }
  if (std::ranges::all_of(rates.causes, &FailureCause::is_planned)) {
    fields.Wrong("causes", "must have at least one cause that is not planned", "none");
  }
  rates.source = fields.Text("source", "");
  fields.RefuseOthers();
  return rates;
}

double PerSecond(const FailureCause& cause, const UnitCounts& counts) {
  return cause.per_day / kSecondsOfDay * static_cast<double>(counts.Of(cause.per));
}

std::optional<FailedPart> PartNamed(std::string_view name) {
  for (const auto& [spelling, part] : kFailedParts) {
    if (spelling == name) {
      return part;
    }
  }
  return std::nullopt;
}

std::size_t CauseIn(JobFailures& failures, const JobFailureCause& cause) {
  const auto is_same = [&](const JobFailureCause& known) {
    return known.name == cause.name && known.part == cause.part &&
           known.nodes_lost == cause.nodes_lost;
  };
  const auto found = std::ranges::find_if(failures.causes, is_same);
  const auto index = static_cast<std::size_t>(found - failures.causes.begin());
  if (found == failures.causes.end()) {
    failures.causes.push_back(cause);
  }
  return index;
}

Result<LoggedFailure> ReadLogged(const Table& table, std::size_t row, JobFailures& failures) {
  const std::size_t line = row + 2;
  const std::optional<double> at_s = table.Number(row, "time_s");
  if (!at_s || !std::isfinite(*at_s) || *at_s < 0) {
    return Invalid("line {}: time_s must be seconds after the beginning, 0 or more", line);
  }
  const std::string_view part_name = table.Text(row, "part").value_or("node");
  const std::optional<FailedPart> part = PartNamed(part_name);
  if (!part) {
    return Invalid("line {}: part must be gpu, nic, node, switch or software, not {}", line,
                   part_name);
  }
  const std::int64_t nodes_lost = table.Integer(row, "nodes_lost").value_or(1);
  if (nodes_lost < 0 || nodes_lost > kMostNodesLost) {
    return Invalid("line {}: nodes_lost must be 0 or more", line);
  }
  const std::string cause(table.Text(row, "cause").value_or(part_name));
  return LoggedFailure{
      *at_s, CauseIn(failures,
                     {.name = cause, .part = *part, .nodes_lost = static_cast<int>(nodes_lost)})};
}

}  // namespace

std::int64_t UnitCounts::Of(FailureUnit unit) const {
  switch (unit) {
    case FailureUnit::kGpu:
      return gpus;
    case FailureUnit::kNic:
      return nics;
    case FailureUnit::kNode:
      return nodes;
    case FailureUnit::kJob:
      return 1;
  }
  return 0;
}

Result<std::vector<FailureRates>> ReadFailureRates(const std::string& yaml,
                                                   std::string_view place) {
  std::vector<FailureRates> sets;
  std::optional<Error> error;
  try {
    YamlFields file(YAML::Load(yaml), std::string(place), error);
    for (YamlFields& fields : file.Maps("sets")) {
      sets.push_back(ReadSet(fields));
    }
    file.RefuseOthers();
  } catch (const YAML::Exception& exception) {
    return Invalid("{}: {}", place, exception.what());
  }
  if (error) {
    return tl::unexpected(*error);
  }
  if (sets.empty()) {
    return Invalid("{}: sets must have at least one set of rates", place);
  }
  return sets;
}

const std::vector<FailureRates>& ShippedFailureRates() {
  static const std::vector<FailureRates> sets = [] {
    Result<std::vector<FailureRates>> read = ReadFailureRates(kEmbeddedFailures, "failures.yaml");
    ORRERY_CHECK(read.has_value(), read ? "" : read.error().message());
    return *std::move(read);
  }();
  return sets;
}

double JobFailures::per_s() const {
  double sum = 0;
  for (const JobFailureCause& cause : causes) {
    sum += cause.per_s;
  }
  return sum;
}

JobFailures FailuresOf(const FailureRates& rates, const UnitCounts& counts) {
  JobFailures failures;
  for (const FailureCause& cause : rates.causes) {
    if (!cause.is_planned) {
      failures.causes.push_back({.name = cause.name,
                                 .part = cause.part,
                                 .per_s = PerSecond(cause, counts),
                                 .nodes_lost = cause.nodes_lost});
    }
  }
  return failures;
}

double PlannedPerSecond(const FailureRates& rates, const UnitCounts& counts) {
  double sum = 0;
  for (const FailureCause& cause : rates.causes) {
    sum += cause.is_planned ? PerSecond(cause, counts) : 0;
  }
  return sum;
}

JobFailures ScaledTo(JobFailures failures, double per_s) {
  const double scale = per_s / failures.per_s();
  for (JobFailureCause& cause : failures.causes) {
    cause.per_s *= scale;
  }
  return failures;
}

Result<JobFailures> ReadFailureLog(std::string_view csv) {
  ORRERY_TRY(const Table table, ParseCsv(csv));
  for (std::size_t column = 0; column < table.num_columns(); ++column) {
    const std::string& name = table.column_name(column);
    if (name != "time_s" && name != "cause" && name != "part" && name != "nodes_lost") {
      return Invalid("column {} is not known; a log has time_s, cause, part and nodes_lost", name);
    }
  }
  if (!table.FindColumn("time_s")) {
    return Invalid("column time_s is missing: seconds after the beginning of the window");
  }
  JobFailures failures{.is_log = true};
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    ORRERY_TRY(const LoggedFailure logged, ReadLogged(table, row, failures));
    failures.log.push_back(logged);
  }
  std::ranges::stable_sort(failures.log, {}, &LoggedFailure::at_s);
  return failures;
}

}  // namespace orrery::simulate
