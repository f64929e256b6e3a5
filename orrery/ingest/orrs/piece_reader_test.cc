#include "orrery/ingest/orrs/piece_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/stream_test.h"
#include "orrery/ingest/registry.h"
#include "orrery/stream/format.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/writer.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::orrs {
namespace {

// Makes `into` the next piece; false after the last one.
Result<bool> NextPiece(PieceReader& reader, trace::Trace& into) {
  ORRERY_TRY(const std::unique_ptr<Recording> recording, reader.ReadNext(into));
  if (recording != nullptr) {
    reader.Complete(*recording);
  }
  return recording != nullptr;
}

namespace codes = stream::codes;
using trace::Trace;

// Tests run side by side: each has a file of its own.
std::string Written(const std::string& bytes) {
  const std::string path =
      fmt::format("{}/piece_reader_{}.orrs", ::testing::TempDir(),
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// ---- what a trace says, as text that does not depend on the numbers of rows

bool LivesAt(const Trace& trace, RowId object, std::int64_t order) {
  const std::int64_t death = trace.memory_objects.death_order[object];
  return trace.memory_objects.birth_order[object] <= order && (death < 0 || death > order);
}

std::string ObjectText(const Trace& trace, RowId object) {
  if (object == kNoRow) {
    return "none";
  }
  const auto row = trace.memory_objects.At(object);
  return fmt::format("{}@{}+{} class {} born {} stream {}", row.id, row.address, row.bytes,
                     static_cast<int>(row.memory_class), row.birth_order, row.stream);
}

std::vector<std::string> AliveAt(const Trace& trace, std::int64_t order) {
  std::vector<std::string> alive;
  for (RowId object = 0; object < trace.memory_objects.size(); ++object) {
    if (LivesAt(trace, object, order)) {
      const RowId parent = trace.memory_objects.parent[object];
      const bool has_parent = parent != kNoRow && LivesAt(trace, parent, order);
      alive.push_back(ObjectText(trace, object) + " in " +
                      ObjectText(trace, has_parent ? parent : kNoRow));
    }
  }
  std::ranges::sort(alive);
  return alive;
}

using Facts = std::map<std::int64_t, std::vector<std::string>>;  // by order of the work

void AddWork(const Trace& trace, Facts& facts) {
  for (RowId row = 0; row < trace.observations.size(); ++row) {
    const auto seen = trace.observations.At(row);
    const auto work = trace.activities.At(seen.activity);
    auto& texts = facts[seen.order];
    texts.push_back(fmt::format(
        "{} by {} at {} for {}, coverage {} {}", trace.Text(work.name),
        work.host_op == kNoRow ? "none" : trace.Text(trace.host_ops.name[work.host_op]),
        work.begin_ns, work.duration_ns, static_cast<int>(seen.coverage), trace.Text(seen.reason)));
    const auto alive = AliveAt(trace, seen.order);
    texts.insert(texts.end(), alive.begin(), alive.end());
  }
}

void AddTouches(const Trace& trace, Facts& facts) {
  std::map<RowId, std::int64_t> order_of;
  for (RowId row = 0; row < trace.observations.size(); ++row) {
    order_of[trace.observations.activity[row]] = trace.observations.order[row];
  }
  for (RowId row = 0; row < trace.touches.size(); ++row) {
    const auto touch = trace.touches.At(row);
    facts[order_of.at(touch.activity)].push_back(fmt::format(
        "touch {}: {} {} {} {} {} {} at {}+{}, coverage {}", ObjectText(trace, touch.object),
        touch.read_bytes, touch.write_bytes, touch.atomic_bytes, touch.sectors, touch.lanes,
        touch.warps, touch.address, touch.extent_bytes, static_cast<int>(touch.coverage)));
  }
  for (RowId row = 0; row < trace.page_runs.size(); ++row) {
    const auto run = trace.page_runs.At(row);
    facts[order_of.at(run.activity)].push_back(
        fmt::format("pages {}: {}+{}x{} {}", ObjectText(trace, run.object), run.address,
                    run.num_pages, run.page_bytes, run.accesses));
  }
  for (RowId row = 0; row < trace.accesses.size(); ++row) {
    const auto access = trace.accesses.At(row);
    facts[order_of.at(access.activity)].push_back(fmt::format(
        "access {} {} {} {}", access.pc, access.address, access.lane_mask, access.access_bytes));
  }
}

void AddCounts(const Trace& trace, Facts& facts) {
  for (RowId row = 0; row < trace.coverage_counts.size(); ++row) {
    facts[-1].push_back(fmt::format("count {}", trace.coverage_counts.count[row]));
  }
  for (RowId row = 0; row < trace.overheads.size(); ++row) {
    facts[-1].push_back(fmt::format("overhead {}", trace.overheads.total_ns[row]));
  }
}

void AddFacts(const Trace& trace, Facts& facts) {
  AddWork(trace, facts);
  AddTouches(trace, facts);
  AddCounts(trace, facts);
}

Facts Sorted(Facts facts) {
  for (auto& [order, texts] : facts) {
    std::ranges::sort(texts);
  }
  return facts;
}

Facts WholeFacts(const std::string& path) {
  const auto file = InputFile::Open(path);
  EXPECT_TRUE(file);
  const auto content = kFormat.Read(*file, {});
  EXPECT_TRUE(content);
  Facts facts;
  AddFacts(content->traces.at(0), facts);
  return Sorted(facts);
}

struct PiecesRead {
  Facts facts;
  std::size_t num_pieces = 0;
  std::size_t most_objects = 0;
};

PiecesRead ReadPieces(const std::string& path, std::uint64_t piece_bytes) {
  PiecesRead read;
  auto reader = PieceReader::Open(path, {.piece_bytes = piece_bytes});
  EXPECT_TRUE(reader) << reader.error().message();
  Trace piece;
  for (auto has_more = NextPiece(*reader, piece); *has_more; has_more = NextPiece(*reader, piece)) {
    AddFacts(piece, read.facts);
    ++read.num_pieces;
    read.most_objects = std::max(read.most_objects, piece.memory_objects.size());
  }
  read.facts = Sorted(read.facts);
  return read;
}

// ---- recordings

TEST(PieceReaderTest, ASmallStreamIsOnePiece) {
  const std::string path = Written(SmallStream());

  const PiecesRead read = ReadPieces(path, 1 << 20);

  EXPECT_EQ(read.num_pieces, 1U);
  EXPECT_EQ(read.facts, WholeFacts(path));
}

// A program that trains for ever: each step allocates, launches and frees. What was touched and how
// long launches took becomes known ten steps later.
class MadeUpRun {
 public:
  std::string Bytes(std::uint64_t num_steps) {
    Add(names_, stream::String{.id = 1, .text = "kernel"});
    Add(names_, stream::String{.id = 2, .text = "aten::mm"});
    Add(functions_, stream::Function{.id = 1, .name = 1});
    Add(events_, Allocation(1, 0x100000, 1 << 16));  // the weight
    Add(events_, stream::OperatorBegin{.sequence = ++sequence_, .thread = 1, .name = 2});
    for (std::uint64_t step = 0; step < num_steps; ++step) {
      AddStep(step);
    }
    for (stream::ChunkBuilder* const chunk : {&names_, &functions_, &events_, &touches_}) {
      bytes_ += chunk->Seal();
    }
    return bytes_ + EndMark();
  }

 private:
  template <typename Record>
  void Add(stream::ChunkBuilder& chunk, const Record& record) {
    EXPECT_TRUE(chunk.Append(record));
    if (chunk.size() > 512) {
      bytes_ += chunk.Seal();
      chunk.Clear();
    }
  }

  stream::Allocation Allocation(std::uint64_t object, std::uint64_t address, std::uint64_t bytes) {
    return {.sequence = ++sequence_,
            .time_ns = static_cast<std::int64_t>(10 * sequence_),
            .thread = 1,
            .object = object,
            .address = address,
            .bytes = bytes,
            .level = codes::kTensor};
  }

  void AddStep(std::uint64_t step) {
    const std::uint64_t object = 2 + step;
    Add(events_, Allocation(object, 0x200000 + (step % 3) * 0x10000, 4096));
    const std::uint64_t launch = ++sequence_;
    Add(events_, stream::Launch{.sequence = launch,
                                .time_ns = static_cast<std::int64_t>(10 * launch),
                                .thread = 1,
                                .function = 1});
    launches_.push_back(launch);
    if (step >= 10) {
      Report(step - 10);
    }
    if (step >= 2) {
      Add(events_, stream::Free{.sequence = ++sequence_,
                                .thread = 1,
                                .object = object - 2,
                                .level = codes::kTensor,
                                .phase = step % 2 == 0 ? std::uint64_t{codes::kFreeRequested}
                                                       : std::uint64_t{codes::kFreed}});
    }
  }

  void Report(std::uint64_t step) {
    const std::uint64_t launch = launches_[step];
    Add(touches_, stream::Touch{.launch = launch, .object = 1, .read_bytes = 100 + step});
    Add(touches_, stream::Touch{.launch = launch, .object = 2 + step, .write_bytes = 7});
    Add(events_,
        stream::LaunchEnd{.sequence = ++sequence_, .launch = launch, .coverage = codes::kExact});
    Add(events_, stream::DeviceTime{.sequence = ++sequence_,
                                    .time_ns = static_cast<std::int64_t>(10 * launch + 3),
                                    .work = launch,
                                    .duration_ns = 5});
  }

  std::string bytes_ = FileOf();
  stream::ChunkBuilder names_{stream::ChunkType::kStrings};
  stream::ChunkBuilder functions_{stream::ChunkType::kFunctions};
  stream::ChunkBuilder events_{stream::ChunkType::kEvents};
  stream::ChunkBuilder touches_{stream::ChunkType::kTouches};
  std::vector<std::uint64_t> launches_;
  std::uint64_t sequence_ = 0;
};

TEST(PieceReaderTest, PiecesTogetherAreTheWhole) {
  const std::string path = Written(MadeUpRun().Bytes(300));
  const Facts whole = WholeFacts(path);

  for (const std::uint64_t piece_bytes : {100U, 1'000U, 2'000U, 5'000U, 20'000U}) {
    EXPECT_EQ(ReadPieces(path, piece_bytes).facts, whole) << piece_bytes;
  }
}

// Names come last in the file, and the operator that was opened first stays open.
TEST(PieceReaderTest, APieceKnowsWhatIsSaidElsewhere) {
  const std::string path = Written(MadeUpRun().Bytes(300));
  auto reader = PieceReader::Open(path, {.piece_bytes = 1'000});
  ASSERT_TRUE(reader);
  ASSERT_GT(reader->num_pieces(), 5U);
  Trace piece;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(*NextPiece(*reader, piece));
  }

  ASSERT_GT(piece.activities.size(), 0U);
  EXPECT_EQ(piece.Text(piece.activities.name[0]), "kernel");
  EXPECT_EQ(piece.Text(piece.host_ops.name.at(piece.activities.host_op[0])), "aten::mm");
}

// Twice as long a run has twice as many pieces of the same size: the dead are forgotten.
TEST(PieceReaderTest, MemoryIsBounded) {
  const PiecesRead short_run = ReadPieces(Written(MadeUpRun().Bytes(500)), 2'000);
  const PiecesRead long_run = ReadPieces(Written(MadeUpRun().Bytes(1'000)), 2'000);

  EXPECT_GT(long_run.num_pieces, short_run.num_pieces * 3 / 2);
  EXPECT_LE(long_run.most_objects, short_run.most_objects + 10);
  EXPECT_LT(long_run.most_objects, 200U);
}

TEST(PieceReaderTest, WithoutTouchesLaunchesAreThere) {
  const std::string path = Written(MadeUpRun().Bytes(100));
  auto reader = PieceReader::Open(path, {.with_touches = false});
  ASSERT_TRUE(reader);
  Trace piece;
  ASSERT_TRUE(*NextPiece(*reader, piece));

  EXPECT_EQ(piece.activities.size(), 100U);
  EXPECT_TRUE(piece.touches.empty());
}

TEST(PieceReaderTest, DamageIsALossOfTheFirstPiece) {
  std::string bytes = MadeUpRun().Bytes(100);
  bytes[bytes.size() / 2] ^= 1;
  auto reader = PieceReader::Open(Written(bytes), {.piece_bytes = 1'000});
  ASSERT_TRUE(reader);
  Trace piece;
  ASSERT_TRUE(*NextPiece(*reader, piece));

  EXPECT_TRUE(piece.problems.has_loss());
}

TEST(PieceReaderTest, AnotherFileIsRefused) {
  EXPECT_FALSE(PieceReader::Open(Written("{}"), {}));
  EXPECT_FALSE(PieceReader::Open("no/such/file", {}));
}

RC_GTEST_PROP(PieceReaderProperty, AnySizeOfPiecesGivesTheWhole, ()) {
  const auto steps = *rc::gen::inRange<std::uint64_t>(0, 60);
  const auto piece_bytes = *rc::gen::inRange<std::uint64_t>(1, 4'000);
  const std::string path = Written(MadeUpRun().Bytes(steps));

  RC_ASSERT(ReadPieces(path, piece_bytes).facts == WholeFacts(path));
}

}  // namespace
}  // namespace orrery::ingest::orrs
