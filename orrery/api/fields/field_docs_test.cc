#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/api/analyze.h"
#include "orrery/api/diff.h"
#include "orrery/api/evaluate.h"
#include "orrery/api/fields.h"
#include "orrery/api/goodput.h"
#include "orrery/api/info.h"
#include "orrery/api/memory.h"
#include "orrery/api/predict.h"
#include "orrery/api/search.h"
#include "orrery/api/simulate.h"
#include "orrery/api/view/questions.h"
#include "orrery/base/document/value.h"
#include "test_paths.h"

namespace orrery::api {
namespace {

// Documents on the JSON of a verb say of every field what it is, those of nested objects included.

void AddPropertyNames(const Value& schema, std::vector<std::string>& names) {
  if (schema.IsList()) {
    for (const Value& item : schema.items()) {
      AddPropertyNames(item, names);
    }
  }
  if (!schema.IsObject()) {
    return;
  }
  for (const auto& [key, value] : schema.fields()) {
    if (key == "properties") {
      for (const auto& [name, property] : value.fields()) {
        names.push_back(name);
      }
    }
    AddPropertyNames(value, names);
  }
}

std::string ReadDocument(std::string_view name) {
  std::ifstream file(std::string(ORRERY_TEST_DATA "/../../docs/formats/").append(name));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void ExpectMentioned(const Value& schema, std::string_view document) {
  const std::string text = ReadDocument(document);
  ASSERT_FALSE(text.empty()) << document;
  std::vector<std::string> names;
  AddPropertyNames(schema, names);
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    // `name`, `name[]`, `parent.name`
    const bool is_mentioned = std::ranges::any_of(
        std::to_array<std::string_view>({"`{}`", "`{}[]`", ".{}`", ".{}[]`"}),
        [&](std::string_view form) {
          return text.find(fmt::format(fmt::runtime(form), name)) != std::string::npos;
        });
    EXPECT_TRUE(is_mentioned) << document << " does not say what " << name << " is";
  }
}

TEST(FieldDocsTest, GoodputIsDescribed) {
  ExpectMentioned(ObjectSchema<GoodputResult>(), "answers/goodput.md");
}

TEST(FieldDocsTest, AnalyzeIsDescribed) {
  ExpectMentioned(ObjectSchema<AnalyzeResult>(), "answers/analyze.md");
}

TEST(FieldDocsTest, InfoIsDescribed) {
  ExpectMentioned(ObjectSchema<InfoResult>(), "answers/info.md");
}

TEST(FieldDocsTest, DiffIsDescribed) {
  ExpectMentioned(ObjectSchema<DiffResult>(), "answers/diff.md");
}

TEST(FieldDocsTest, EvaluateIsDescribed) {
  ExpectMentioned(ObjectSchema<EvaluateKernelsResult>(), "answers/evaluate.md");
  ExpectMentioned(ObjectSchema<EvaluateCollectivesResult>(), "answers/evaluate.md");
  ExpectMentioned(ObjectSchema<EvaluateAllResult>(), "answers/evaluate.md");
  ExpectMentioned(ObjectSchema<EvaluateOverlapResult>(), "answers/evaluate.md");
  ExpectMentioned(ObjectSchema<EvaluateEchoResult>(), "answers/evaluate.md");
  ExpectMentioned(ObjectSchema<EvaluateJitterResult>(), "answers/evaluate.md");
}

TEST(FieldDocsTest, MemoryIsDescribed) {
  ExpectMentioned(ObjectSchema<MemoryResult>(), "answers/memory.md");
}

TEST(FieldDocsTest, PredictIsDescribed) {
  ExpectMentioned(ObjectSchema<PredictTraceResult>(), "answers/predict.md");
  ExpectMentioned(ObjectSchema<PredictedKernel>(), "answers/predict.md");
  ExpectMentioned(ObjectSchema<PredictCollectiveResult>(), "answers/predict.md");
  ExpectMentioned(ObjectSchema<PredictOverlapResult>(), "answers/predict.md");
}

TEST(FieldDocsTest, SearchIsDescribed) {
  ExpectMentioned(ObjectSchema<SearchResult>(), "search.md");
}

TEST(FieldDocsTest, QuestionsOfAViewAreDescribed) {
  const std::string text = ReadDocument("view.md");
  for (const view::Question& question : view::Questions()) {
    std::vector<std::string> names;
    AddPropertyNames(question.request_schema(), names);
    if (question.reply_schema != nullptr) {
      AddPropertyNames(question.reply_schema(), names);
    }
    for (const std::string& name : names) {
      const bool is_mentioned = text.find(fmt::format("\"{}\"", name)) != std::string::npos ||
                                text.find(fmt::format("{}=", name)) != std::string::npos;
      EXPECT_TRUE(is_mentioned) << "view.md has no " << name << " of " << question.name;
    }
  }
}

TEST(FieldDocsTest, SimulateIsDescribed) {
  ExpectMentioned(ObjectSchema<SimulateResult>(), "answers/simulate.md");
  ExpectMentioned(ObjectSchema<SimulateTogetherResult>(), "answers/simulate.md");
}

}  // namespace
}  // namespace orrery::api
