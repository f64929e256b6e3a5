#include "orrery/workload/keys/job_schema.h"

#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/document/value.h"
#include "orrery/workload/keys/job_keys.h"

namespace orrery::workload {
namespace {

// The schema of a key; sections that may be a name alone are the second choice.
const Value& SchemaOfKey(const Value& job, const JobKey& key) {
  const Value* section = job.Find("properties")->Find(key.section);
  const Value* const choices = section->Find("anyOf");
  section = choices == nullptr ? section : &choices->items().back();
  return *section->Find("properties")->Find(key.name);
}

TEST(JobSchema, HasEveryKeyWithItsMeaning) {
  const Value job = JobSchema();
  for (const JobKey& key : JobKeys()) {
    EXPECT_EQ(*SchemaOfKey(job, key).Find("description"), Value(key.meaning)) << key.path;
  }
}

TEST(JobSchema, HasTypesRangesAndDefaults) {
  const Value job = JobSchema();
  const Value& degree = SchemaOfKey(job, *FindJobKey("plan.tp"));
  EXPECT_EQ(*degree.Find("type"), Value("integer"));
  EXPECT_EQ(*degree.Find("minimum"), Value(1.0));
  EXPECT_EQ(*degree.Find("default"), Value(1));
  const Value& flag = SchemaOfKey(job, *FindJobKey("plan.context_is_balanced"));
  EXPECT_EQ(*flag.Find("type"), Value("boolean"));
  EXPECT_EQ(*flag.Find("default"), Value(true));
  const Value& word = SchemaOfKey(job, *FindJobKey("plan.dispatch"));
  EXPECT_EQ(word.Find("enum")->items().size(), 3U);
  EXPECT_EQ(*word.Find("default"), Value("all_to_all"));
}

}  // namespace
}  // namespace orrery::workload
