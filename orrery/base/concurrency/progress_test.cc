#include "orrery/base/concurrency/progress.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/units.h"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A terminal that remembers what was written, and a clock that stands still until it is moved.
struct FakeTerminal {
  std::vector<std::string> written;
  TimePoint now;

  ProgressLine::Options Options(bool is_terminal = true, std::size_t width = 80) {
    return {.write = [this](std::string_view text) { written.emplace_back(text); },
            .is_terminal = is_terminal,
            .width = width,
            .now = [this] { return now; }};
  }

  void Wait(std::int64_t milliseconds) { now = now + Duration{milliseconds * 1'000'000}; }
};

TEST(ProgressLineTest, OnATerminalTheLineOverwritesItselfAndVanishes) {
  FakeTerminal terminal;
  {
    ProgressLine progress(terminal.Options());
    progress.Update(1, 2, "rank0.json");
    progress.Update(2, 2, "rank1.json");
  }

  EXPECT_THAT(terminal.written,
              ElementsAre("\r[1/2] rank0.json\x1b[K", "\r[2/2] rank1.json\x1b[K", "\r\x1b[K"));
}

TEST(ProgressLineTest, ElsewhereShortWorkPrintsNothing) {
  FakeTerminal terminal;
  {
    ProgressLine progress(terminal.Options(/*is_terminal=*/false));
    progress.Update(1, 1, "rank0.json");
  }

  EXPECT_THAT(terminal.written, IsEmpty());
}

// Updates at 9, 11 and 20 s: the second is the first after ten seconds, the third too early again.
TEST(ProgressLineTest, ElsewhereThereIsALineEveryTenSeconds) {
  FakeTerminal terminal;
  ProgressLine progress(terminal.Options(/*is_terminal=*/false));
  terminal.Wait(9'000);
  progress.Update(1, 3, "a");
  terminal.Wait(2'000);
  progress.Update(2, 3, "b");
  terminal.Wait(9'000);
  progress.Update(3, 3, "c");

  EXPECT_THAT(terminal.written, ElementsAre("[2/3] b (11 s)\n"));
}

TEST(ProgressLineTest, WorkThatSaysNothingIsShownAgainWithItsTime) {
  FakeTerminal terminal;
  ProgressLine progress(terminal.Options(), "reading big.json");
  progress.Tick();  // nothing yet: most work is done by then
  terminal.Wait(1'000);
  progress.Tick();
  terminal.Wait(19'000);
  progress.Tick();
  progress.Clear();
  terminal.Wait(1'000);
  progress.Tick();  // other output follows

  EXPECT_THAT(terminal.written, ElementsAre("\rreading big.json\x1b[K",
                                            "\rreading big.json (20 s)\x1b[K", "\r\x1b[K"));
}

TEST(ProgressLineTest, WithoutAnUpdateThereIsNothingToTakeAway) {
  FakeTerminal terminal;
  {
    const ProgressLine progress(terminal.Options());
  }

  EXPECT_THAT(terminal.written, IsEmpty());
}

// Lines at 0 and 120 ms; the one at 50 ms is too early and so is 210, the last is always shown.
TEST(ProgressLineTest, FastUpdatesAreThinnedOutButTheLastIsShown) {
  FakeTerminal terminal;
  ProgressLine progress(terminal.Options());
  progress.Update(1, 5, "a");
  terminal.Wait(50);
  progress.Update(2, 5, "b");
  terminal.Wait(70);
  progress.Update(3, 5, "c");
  terminal.Wait(90);
  progress.Update(4, 5, "d");
  progress.Update(5, 5, "e");

  EXPECT_THAT(terminal.written,
              ElementsAre("\r[1/5] a\x1b[K", "\r[3/5] c\x1b[K", "\r[5/5] e\x1b[K"));
}

TEST(ProgressLineTest, AnUnknownTotalIsLeftOut) {
  FakeTerminal terminal;
  ProgressLine progress(terminal.Options());
  progress.Update(7, 0, "events");

  EXPECT_THAT(terminal.written, ElementsAre("\r[7] events\x1b[K"));
}

// 16 columns: 3 for the dots leave 13, of which the front gets 7.
TEST(ProgressLineTest, ALongLineLosesItsMiddle) {
  FakeTerminal terminal;
  ProgressLine progress(terminal.Options(/*is_terminal=*/true, /*width=*/16));
  progress.Update(1, 9, "a/very/long/path.json");

  EXPECT_THAT(terminal.written, ElementsAre("\r[1/9] a...h.json\x1b[K"));
}

TEST(ProgressLineTest, AfterClearTheNextUpdateIsShownAtOnce) {
  FakeTerminal terminal;
  ProgressLine progress(terminal.Options());
  progress.Update(1, 3, "a");
  progress.Clear();
  progress.Update(2, 3, "b");

  EXPECT_THAT(terminal.written, ElementsAre("\r[1/3] a\x1b[K", "\r\x1b[K", "\r[2/3] b\x1b[K"));
}

}  // namespace
}  // namespace orrery
