#include "capture/recorder/settings.h"

#include <string_view>

#include <gtest/gtest.h>

namespace orrery::capture {
namespace {

TEST(SettingsTest, TheEnvironmentSaysWhereToAndHowMuch) {
  const RecorderSettings settings = SettingsFrom([](const char* name) -> const char* {
    const std::string_view wanted(name);
    return wanted == "ORRERY_CAPTURE_OUT"        ? "/out/a b.orrs"
           : wanted == "ORRERY_CAPTURE_LIMIT_MB" ? "3"
           : wanted == "ORRERY_CAPTURE_HOST"     ? ""
                                                 : nullptr;
  });

  EXPECT_EQ(settings.path, "/out/a b.orrs");
  EXPECT_EQ(settings.limit_bytes, 3'000'000U);
  EXPECT_EQ(settings.host, "");
}

TEST(SettingsTest, WithoutAnythingNothingIsRecorded) {
  const RecorderSettings settings =
      SettingsFrom([](const char*) -> const char* { return nullptr; });

  EXPECT_EQ(settings.path, "");
  EXPECT_EQ(settings.limit_bytes, 0U);
}

TEST(SettingsTest, WhatIsNotANumberIsNotTaken) {
  for (const char* const text : {"", "12x", "x", "99999999999999999999"}) {
    static const char* shown = nullptr;
    shown = text;
    EXPECT_EQ(NumberFrom([](const char*) { return shown; }, "N", 7), 7) << text;
  }
}

}  // namespace
}  // namespace orrery::capture
