#include "orrery/workload/job/framework.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/embedded_framework_fits.h"
#include "orrery/workload/embedded_frameworks.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework_fits_text.h"
#include "orrery/workload/keys/job_keys.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

void ReadScalar(YamlFields& fields, const FittedScalar& scalar, Framework& framework) {
  double& value = framework.*scalar.member;
  value = fields.Number(scalar.key, scalar.least, value);
  if (value > scalar.most) {
    fields.Wrong(scalar.key, fmt::format("must be a number of at most {}", scalar.most),
                 fmt::format("{}", value));
  }
}

void ReadFitted(YamlFields& fields, Framework& framework) {
  for (const FittedScalar& scalar : FittedScalars()) {
    ReadScalar(fields, scalar, framework);
  }
}

void ReadGuessed(YamlFields& fields, Framework& framework) {
  framework.guessed = fields.Texts("guessed", std::vector<std::string>());
  for (const std::string& key : framework.guessed) {
    if (FindJobKey("framework." + key) == nullptr) {
      fields.Wrong("guessed", "must be a list of declared properties", key);
    }
  }
}

Framework ReadFramework(YamlFields fields) {
  Framework framework;
  framework.name = fields.Text("name");
  framework.match = fields.WordLists("match");
  framework.releases = fields.Texts("releases", std::vector<std::string>());
  framework.origin = fields.Text("origin");
  framework.scalars_of = fields.Text("scalars_of", std::string());
  ReadGuessed(fields, framework);
  ReadDeclared(fields, framework);
  ReadFitted(fields, framework);
  fields.RefuseOthers();
  return framework;
}

Result<std::vector<Framework>> ReadAll(const YAML::Node& root) {
  std::optional<Error> first_error;
  YamlFields top(root, "catalogue of frameworks", first_error);
  const YAML::Node nodes = top.Node("frameworks");
  top.RefuseOthers();
  std::vector<Framework> frameworks;
  std::set<std::string> names;
  for (std::size_t i = 0; nodes.IsSequence() && i < nodes.size() && !first_error; ++i) {
    const std::string place = EntryPlace("framework", nodes[i], i);
    frameworks.push_back(ReadFramework(YamlFields(nodes[i], place, first_error)));
    if (!first_error && !names.insert(LowerCase(frameworks.back().name)).second) {
      first_error.emplace(Error::Kind::kInvalidInput, place + ": name is used twice");
    }
  }
  if (!first_error && frameworks.empty()) {
    top.Wrong("frameworks", "must be a list of frameworks", "something else");
  }
  if (first_error) {
    return tl::unexpected(*std::move(first_error));
  }
  return frameworks;
}

}  // namespace

std::span<const FittedScalar> FittedScalars() {
  static constexpr std::array<FittedScalar, kNumScalars> kScalars{{
      {"gemm_rate", &Framework::gemm_rate, 0.4, 1.5},
      {"attention_rate", &Framework::attention_rate, 0.3, 2},
      {"memory_rate", &Framework::memory_rate, 0.3, 2},
      {"communication_rate", &Framework::communication_rate, 0.3, 2},
      {"launch_us", &Framework::launch_us, 0, 200},
      {"spread", &Framework::spread, 0, 0.15},
  }};
  return kScalars;
}

void CopyScalars(const Framework& from, Framework& to) {
  for (const FittedScalar& scalar : FittedScalars()) {
    to.*scalar.member = from.*scalar.member;
  }
  to.is_fitted = from.is_fitted;
}

Result<std::vector<Framework>> FrameworksWithFits(const std::string& yaml) {
  ORRERY_TRY(std::vector<Framework> frameworks, ReadFrameworks(kEmbeddedFrameworks));
  const Result<ScalarPopulation> population = ReadFrameworkFits(yaml, frameworks);
  if (!population) {
    return tl::unexpected(population.error());
  }
  for (Framework& framework : frameworks) {
    const auto owner = std::ranges::find(frameworks, framework.scalars_of, &Framework::name);
    if (owner != frameworks.end()) {
      CopyScalars(*owner, framework);
    }
  }
  return frameworks;
}

const std::vector<Framework>& Frameworks() {
  static const std::vector<Framework> catalogue = [] {
    auto frameworks = FrameworksWithFits(kEmbeddedFrameworkFits);
    ORRERY_CHECK(frameworks.has_value(), frameworks ? "" : frameworks.error().message());
    return *std::move(frameworks);
  }();
  return catalogue;
}

const Framework* FindFramework(std::string_view name, std::string_view release) {
  const auto is_called = [&](const Framework& framework) {
    return hardware::IsCalled(name, framework.match);
  };
  const auto has_release = [&](const Framework& framework) {
    return std::ranges::any_of(
        framework.releases, [&](const std::string& start) { return release.starts_with(start); });
  };
  const std::vector<Framework>& frameworks = Frameworks();
  auto found = frameworks.end();
  if (!release.empty()) {
    found = std::ranges::find_if(frameworks, [&](const Framework& framework) {
      return is_called(framework) && (framework.releases.empty() || has_release(framework));
    });
  }
  if (found == frameworks.end()) {
    found = std::ranges::find_if(frameworks, [&](const Framework& framework) {
      return SameIgnoringCase(framework.name, name);
    });
  }
  if (found == frameworks.end()) {
    found = std::ranges::find_if(frameworks, [&](const Framework& framework) {
      return framework.releases.empty() && is_called(framework);
    });
  }
  return found == frameworks.end() ? nullptr : &*found;
}

const Framework& UnknownFramework() {
  return Frameworks().back();
}

void ReadDeclared(YamlFields& fields, Framework& framework) {
  ReadKeys("framework", fields, {.framework = &framework});
}

Status SetDeclared(const std::string& setting, Framework& framework) {
  constexpr std::string_view kSection = "framework.";
  const std::size_t equals = setting.find('=');
  if (!setting.starts_with(kSection) || equals == std::string::npos) {
    return Refuse("--set {}: write framework.KEY=VALUE (orrery list job-keys)", setting);
  }
  const std::string yaml = fmt::format("{{{}: {}}}",
                                       std::string_view(setting).substr(
                                           kSection.size(), equals - kSection.size()),
                                       std::string_view(setting).substr(equals + 1));
  return WithYaml("--set", yaml, [&](const YAML::Node& root) -> Status {
    std::optional<Error> first_error;
    YamlFields fields(root, "--set", first_error);
    ReadDeclared(fields, framework);
    fields.RefuseOthers();
    return first_error ? Status(tl::unexpected(*std::move(first_error))) : Status();
  });
}

void ReadHostCost(YamlFields& fields, Framework& framework) {
  const auto scalar =
      std::ranges::find(FittedScalars(), &Framework::launch_us, &FittedScalar::member);
  ReadScalar(fields, *scalar, framework);
}

Result<ScalarPopulation> ReadFrameworkFits(const std::string& yaml,
                                           std::vector<Framework>& frameworks) {
  ScalarPopulation population;
  const Status read = WithYaml("fits of frameworks", yaml, [&](const YAML::Node& root) -> Status {
    std::optional<Error> first_error;
    if (root["population"]) {
      population.noise = root["noise"].as<double>(0);
      YamlFields fields(root["population"], "population", first_error);
      std::size_t place = 0;
      for (const FittedScalar& scalar : FittedScalars()) {
        YamlFields of_scalar = fields.Map(scalar.key);
        population.mean.*scalar.member = of_scalar.Number("mean", scalar.least, 1);
        population.deviation[place++] = of_scalar.Number("deviation", 0, 0);
        of_scalar.RefuseOthers();
      }
      fields.RefuseOthers();
      for (Framework& framework : frameworks) {
        CopyScalars(population.mean, framework);
      }
    }
    const YAML::Node nodes = root["fits"];
    for (std::size_t i = 0; i < nodes.size() && !first_error; ++i) {
      YamlFields fields(nodes[i], fmt::format("fit {}", i + 1), first_error);
      const std::string name = fields.Text("framework");
      const auto found = std::ranges::find(frameworks, name, &Framework::name);
      if (found == frameworks.end()) {
        fields.Wrong("framework", "must be one of the catalogue of frameworks", name);
        break;
      }
      fields.Expect({"rows", "stacks", "teams", "error_before", "error_after"});  // for people
      ReadFitted(fields, *found);
      found->is_fitted = true;
      fields.RefuseOthers();
    }
    return first_error ? Status(tl::unexpected(*std::move(first_error))) : Status();
  });
  if (!read) {
    return tl::unexpected(read.error());
  }
  return population;
}

std::string ShippedFrameworkFits() {
  return kEmbeddedFrameworkFits;
}

const ScalarPopulation& Population() {
  static const ScalarPopulation population = [] {
    auto frameworks = ReadFrameworks(kEmbeddedFrameworks);
    auto read = ReadFrameworkFits(kEmbeddedFrameworkFits, *frameworks);
    ORRERY_CHECK(read.has_value(), read ? "" : read.error().message());
    return *std::move(read);
  }();
  return population;
}

Result<std::vector<Framework>> ReadFrameworks(const std::string& yaml) {
  return WithYaml("catalogue of frameworks", yaml, ReadAll);
}

}  // namespace orrery::workload
