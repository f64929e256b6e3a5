// Writes an event stream of any size, to see how fast the memory tools are: launches that touch
// twenty of a thousand tensors each, as in a training step.

#include <cstdint>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "orrery/stream/codes.h"
#include "orrery/stream/format.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/writer.h"

namespace orrery::bench {
namespace {

constexpr std::uint64_t kTouchesOfLaunch = 20;
constexpr std::uint64_t kObjects = 1'000;
constexpr std::uint64_t kObjectBytes = 4U << 20U;

/// The chunks of a stream; says in the end whether all could be written.
class Generator {
 public:
  bool Write(const char* path, std::uint64_t num_launches) {
    is_well_ = file_.Create(path);
    Append(stream::String{.id = 1, .text = "kernel"}, names_);
    Append(stream::Function{.id = 1, .name = 1}, functions_);
    for (std::uint64_t object = 1; object <= kObjects; ++object) {
      AddObject(object);
    }
    for (std::uint64_t launch = 0; launch < num_launches; ++launch) {
      AddLaunch(launch);
    }
    for (stream::ChunkBuilder* const chunk : {&names_, &functions_, &events_, &touches_}) {
      is_well_ = is_well_ && file_.Write(chunk->Seal());
    }
    return is_well_;
  }

 private:
  template <typename Record>
  void Append(const Record& record, stream::ChunkBuilder& chunk) {
    is_well_ = is_well_ && stream::AppendOrFlush(record, chunk, file_);
  }

  [[nodiscard]] std::int64_t NextTime() { return time_ns_ += 1'000; }

  void AddObject(std::uint64_t object) {
    Append(stream::Allocation{.sequence = ++sequence_,
                              .time_ns = NextTime(),
                              .object = object,
                              .address = object * 2 * kObjectBytes,
                              .bytes = kObjectBytes,
                              .level = stream::codes::kTensor},
           events_);
  }

  void AddLaunch(std::uint64_t launch) {
    const std::uint64_t number = ++sequence_;
    Append(stream::Launch{.sequence = number,
                          .time_ns = NextTime(),
                          .function = 1,
                          .stream = 7,
                          .grid_x = 100,
                          .block_x = 256},
           events_);
    for (std::uint64_t i = 0; i < kTouchesOfLaunch; ++i) {
      Append(stream::Touch{.launch = number,
                           .object = 1 + (launch * 7 + i * 13) % kObjects,
                           .read_bytes = 1'000'000 + launch % 100'000,
                           .sectors = 31'250,
                           .lanes = 250'000,
                           .warps = 7'813},
             touches_);
    }
    Append(stream::LaunchEnd{.sequence = ++sequence_,
                             .time_ns = NextTime(),
                             .launch = number,
                             .coverage = stream::codes::kExact},
           events_);
  }

  stream::StreamFile file_;
  stream::ChunkBuilder names_{stream::ChunkType::kStrings};
  stream::ChunkBuilder functions_{stream::ChunkType::kFunctions};
  stream::ChunkBuilder events_{stream::ChunkType::kEvents};
  stream::ChunkBuilder touches_{stream::ChunkType::kTouches};
  std::uint64_t sequence_ = 0;
  std::int64_t time_ns_ = 0;
  bool is_well_ = false;
};

int Main(int argc, char** argv) {
  CLI::App app("Writes an event stream of launches that touch tensors.");
  std::string path;
  std::uint64_t num_launches = 600'000;
  app.add_option("FILE", path)->required();
  app.add_option("--launches", num_launches)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (!Generator().Write(path.c_str(), num_launches)) {
    std::fprintf(stderr, "generate_orrs: %s cannot be written\n", path.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace orrery::bench

// An exception ends a generator of test data as well as a message does.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  return orrery::bench::Main(argc, argv);
}
