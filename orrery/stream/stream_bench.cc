#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "orrery/base/file/byte_source.h"
#include "orrery/stream/format.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/visit.h"
#include "orrery/stream/writer.h"

// Measures how fast streams are checked and decoded on one core; bytes per second are bytes of the
// file.

namespace orrery::stream {
namespace {

constexpr std::uint64_t kRecords = 1'000'000;

std::string FileOf(ChunkType type, const auto& append) {
  const auto header = FileHeader();
  std::string file(header.data(), header.size());
  ChunkBuilder chunk(type);
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    if (!append(chunk, i)) {
      file += chunk.Seal();
      chunk.Clear();
      (void)append(chunk, i);
    }
  }
  return file.append(chunk.Seal());
}

// Twenty objects a launch, sizes as of tensors.
std::string Touches() {
  return FileOf(ChunkType::kTouches, [](ChunkBuilder& chunk, std::uint64_t i) {
    return chunk.Append(Touch{.launch = 31 * (i / 20),
                              .object = 1 + (i * 7) % 300,
                              .read_bytes = (i % 3) * 3'145'728,
                              .write_bytes = (i % 2) * 786'432,
                              .sectors = 98'304 + i % 64,
                              .lanes = 786'432,
                              .warps = 24'576});
  });
}

std::string Launches() {
  return FileOf(ChunkType::kEvents, [](ChunkBuilder& chunk, std::uint64_t i) {
    return chunk.Append(Launch{.sequence = 3 * i,
                               .time_ns = static_cast<std::int64_t>(i * 4'321),
                               .thread = 1,
                               .function = 1 + i % 60,
                               .stream = 7,
                               .correlation = i,
                               .grid_x = 1'024,
                               .grid_y = 1,
                               .grid_z = 1,
                               .block_x = 128,
                               .block_y = 1,
                               .block_z = 1,
                               .duration_ns = 3'000});
  });
}

void ReadFile(benchmark::State& state, const std::string& file) {
  for (auto _ : state) {
    const auto source = OpenMemory(file);
    auto reader = StreamReader::Open(*source);
    std::uint64_t sum = 0;
    for (auto chunk = reader->Next(); chunk && *chunk != nullptr; chunk = reader->Next()) {
      ForEachRecord(**chunk, [&]<typename Record>(const Record& record) {
        if constexpr (std::is_same_v<Record, Touch>) {
          sum += record.read_bytes + record.write_bytes;
        } else if constexpr (std::is_same_v<Record, Launch>) {
          sum += record.grid_x + record.sequence;
        }
      });
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(file.size()));
  state.counters["bytes per record"] =
      static_cast<double>(file.size()) / static_cast<double>(kRecords);
}

void ReadTouches(benchmark::State& state) {
  ReadFile(state, Touches());
}

void ReadLaunches(benchmark::State& state) {
  ReadFile(state, Launches());
}

void Checksum(benchmark::State& state) {
  const std::string file = Touches();
  for (auto _ : state) {
    benchmark::DoNotOptimize(Crc32c(file));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(file.size()));
}

BENCHMARK(ReadTouches)->Unit(benchmark::kMillisecond);
BENCHMARK(ReadLaunches)->Unit(benchmark::kMillisecond);
BENCHMARK(Checksum)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::stream
