#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "orrery/api/view/questions.h"
#include "test_paths.h"

namespace orrery::api::view {
namespace {

// After a change of a list: orrery help view --typescript >web/src/protocol.ts
TEST(TypeScriptTest, ThePageIsBuiltWithTheFieldsOfTheLists) {
  std::ifstream file(ORRERY_TEST_DATA "/../../web/src/protocol.ts");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), TypeScript());
}

}  // namespace
}  // namespace orrery::api::view
