#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/api/analyze.h"
#include "orrery/api/convert.h"
#include "orrery/api/diff.h"
#include "orrery/api/fields.h"
#include "orrery/api/info.h"
#include "orrery/base/document/value.h"

namespace orrery::api {
namespace {

template <typename T>
std::set<std::string_view> NamesOf() {
  std::set<std::string_view> names;
  for (const Field<T>& field : FieldList<T>::Get()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.doc.empty()) << field.name;
  }
  return names;
}

TEST(RunRequestsTest, ListsHoldTheFieldsOfTheirParts) {
  EXPECT_TRUE(NamesOf<InfoRequest>().contains("paths"));
  EXPECT_TRUE(NamesOf<AnalyzeRequest>().contains("step_marker"));
  EXPECT_TRUE(NamesOf<AnalyzeRequest>().contains("min_bytes"));
  EXPECT_TRUE(NamesOf<ConvertRequest>().contains("threads"));
  EXPECT_FALSE(NamesOf<DiffRequest>().contains("paths"));  // before and after are
  NamesOf<InfoResult>();
  NamesOf<AnalyzeResult>();
  NamesOf<DiffResult>();
  NamesOf<ConvertResult>();
}

TEST(RunRequestsTest, PartsAreReadFromJson) {
  Value ranks = Value::List();
  ranks.Add(0).Add(3);
  const Result<AnalyzeRequest> request = FromValue<AnalyzeRequest>(Value::Object()
                                                                       .Set("paths", "run")
                                                                       .Set("threads", 2)
                                                                       .Set("rank", ranks)
                                                                       .Set("align", "off")
                                                                       .Set("link", 1));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->run.paths, std::vector<std::string>{"run"});
  EXPECT_EQ(request->run.threads, 2);
  EXPECT_EQ(request->selection.ranks, (std::vector<int>{0, 3}));
  EXPECT_EQ(request->selection.align, "off");
  EXPECT_EQ(request->link, 1);
}

TEST(RunRequestsTest, TheSummaryIsLeftOutOfAResultWithoutOne) {
  AnalyzeResult result;
  EXPECT_EQ(ToObject(result).fields().size(), 1U);  // metrics
  result.has_summary = true;
  EXPECT_TRUE(ToObject(result).Find("time")->IsNull());
}

TEST(RunRequestsTest, CostsHaveTheQuantitiesOfTheirList) {
  const Value cost = ToObject(DiffCost{.count = 2, .device_ns = 5, .wait_ns = 1});
  EXPECT_EQ(cost.fields().size(), 3U);
  EXPECT_EQ(cost.Find("host_ns"), nullptr);
}

}  // namespace
}  // namespace orrery::api
