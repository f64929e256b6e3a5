#include "orrery/workload/keys/job_keys.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/model/transformer_shape.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

void PrintTo(const JobKey& key, std::ostream* out) {
  *out << key.path;
}

namespace {

using ::testing::HasSubstr;

constexpr std::string_view kJob =
    "model: mixtral-8x7b\ntraining: {sequence: 4096, global_batch: 64}\ncluster: DGX H100\ngpus: "
    "64\n";

/// The sections of a job, with the defaults of their structs.
struct Sections {
  TransformerShape model;
  Training training;
  Plan plan;
  Framework framework;
  std::optional<Error> error = {};

  // Reads the key alone.
  void Read(const JobKey& key, const std::string& value) {
    const YAML::Node node = YAML::Load(fmt::format("{{{}: {}}}", key.name, value));
    YamlFields fields(node, "job", error);
    key.read(fields, {&model, &training, &plan, &framework});
    fields.RefuseOthers();
  }

  bool operator==(const Sections& other) const {
    return training == other.training && plan == other.plan && framework == other.framework;
  }
};

// A value that is not the default.
std::string OtherValue(const JobKey& key) {
  static const std::map<std::string_view, std::string> kTexts{{"plan.layers_per_stage", "[16, 16]"},
                                                              {"plan.layout", "Et*16|t*16L"},
                                                              {"plan.token_imbalance", "zipf:1.5"}};
  if (const auto found = kTexts.find(key.path); found != kTexts.end()) {
    return found->second;
  }
  const std::string usual = key.usual();
  if (key.type == "flag") {
    return usual.starts_with("true") ? "false" : "true";
  }
  if (!key.words.empty()) {
    const std::string word(usual == key.words.back() ? key.words.front() : key.words.back());
    return key.type == "list" ? "[" + word + "]" : word;
  }
  return key.type == "number" ? (usual == "0" ? "0.5" : "0") : (usual == "3" ? "2" : "3");
}

class EveryKey : public testing::TestWithParam<JobKey> {};

TEST_P(EveryKey, IsReadIntoItsSection) {
  Sections read;
  read.Read(GetParam(), OtherValue(GetParam()));
  ASSERT_FALSE(read.error) << read.error->message();
  EXPECT_EQ(read == Sections(), GetParam().section == "model");
}

TEST_P(EveryKey, IsSetByOverrides) {
  const auto read = ReadOpenJob({.yaml = std::string(kJob), .place = "job", .folder = "."},
                                std::vector{fmt::format("{}={{a: 1}}", GetParam().path)});
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message(), HasSubstr(fmt::format(": {} must be ", GetParam().name)));
}

// The default that is listed is the one that a section without the key has.
TEST_P(EveryKey, HasTheListedDefault) {
  const JobKey& key = GetParam();
  Sections read;
  read.Read(key, fmt::format("\"{}\"", key.usual()));
  EXPECT_TRUE(read.error || read == Sections()) << key.usual();
}

TEST_P(EveryKey, IsDocumented) {
  EXPECT_FALSE(GetParam().meaning.empty());
  EXPECT_FALSE(GetParam().usual().empty());
}

INSTANTIATE_TEST_SUITE_P(OfAJob, EveryKey, testing::ValuesIn(JobKeys().begin(), JobKeys().end()),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", tested.param.section, tested.param.name);
                         });

TEST(JobKeys, AreThoseOfTheDataFile) {
  const YAML::Node file = YAML::LoadFile(ORRERY_JOB_KEYS);
  std::vector<std::string> listed;
  for (const YAML::Node& entry : file["keys"]) {
    listed.push_back(entry["key"].as<std::string>());
    const JobKey* const key = FindJobKey(listed.back());
    ASSERT_NE(key, nullptr) << listed.back();
    EXPECT_EQ(key->meaning, entry["meaning"].as<std::string>());
  }
  EXPECT_EQ(listed.size(), JobKeys().size());
}

// The names in plan.h, which are needed where no table is.
TEST(JobKeys, SpellPartsAndReshardAsPlansDo) {
  const std::span<const std::string_view> parts = FindJobKey("plan.recompute_parts")->words;
  EXPECT_TRUE(std::ranges::equal(parts, kRecomputedPartNames, {}, {}, &RecomputedPartName::name));
  for (const std::string_view section : {"plan.reshard", "framework.reshard"}) {
    const std::span<const std::string_view> words = FindJobKey(section)->words;
    EXPECT_TRUE(std::ranges::equal(words, kReshardNames, {}, {},
                                   &std::pair<std::string_view, Reshard>::first));
  }
}

TEST(JobKeys, HaveDistinctPlacesInASearch) {
  std::set<int> places;
  for (const JobKey& key : JobKeys()) {
    if (key.search.place > 0) {
      EXPECT_TRUE(places.insert(key.search.place).second) << key.path;
      EXPECT_NE(key.search.copy, nullptr) << key.path;
    }
  }
  EXPECT_EQ(*places.rbegin(), static_cast<int>(places.size()));
}

}  // namespace
}  // namespace orrery::workload
