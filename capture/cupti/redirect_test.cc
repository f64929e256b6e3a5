#include "capture/cupti/redirect.h"

#include <array>

#include <gtest/gtest.h>
#include <unistd.h>

namespace orrery::capture {
namespace {

constexpr pid_t kAnswer = 4711;

pid_t Answer() {
  return kAnswer;
}

TEST(RedirectTest, CallsOfAFunctionGoElsewhere) {
  ASSERT_NE(getppid(), kAnswer);
  const std::array to_us = {Redirection{"getppid", reinterpret_cast<void*>(&Answer)}};
  EXPECT_GE(RedirectCalls(to_us, {}), 1U);
  EXPECT_EQ(getppid(), kAnswer);
  EXPECT_EQ(RedirectCalls(to_us, {}), 0U) << "what was changed is not changed again";
}

int not_in_a_function = 0;

TEST(RedirectTest, AnObjectThatIsExceptedKeepsItsCalls) {
  const std::array to_us = {Redirection{"getsid", reinterpret_cast<void*>(&Answer)}};
  const std::array<const void*, 1> except = {&not_in_a_function};
  static_cast<void>(RedirectCalls(to_us, except));
  EXPECT_NE(getsid(0), kAnswer);
}

TEST(RedirectTest, SomethingIsLoadedAlready) {
  EXPECT_GT(NumLoadedSoFar(), 0U);
}

}  // namespace
}  // namespace orrery::capture
