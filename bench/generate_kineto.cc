// Writes Kineto JSON of any size, for benchmarks: what the PyTorch profiler would write for a
// tensor-parallel transformer with stacks, shapes and memory.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/kineto_writer.h"
#include "bench/output_file.h"
#include "bench/training_step.h"
#include "orrery/base/error.h"

namespace orrery::bench {

namespace {

struct Options {
  std::int64_t bytes = 100'000'000;
  std::uint64_t seed = 1;
  int ranks = 1;
  std::string path;
};

struct Plan {
  TrainingStep step;
  int num_steps = 1;
};

std::int64_t BytesOf(const TrainingStep& step, int num_steps) {
  TextWriter counter(nullptr);
  WriteKinetoFile(step, {.num_steps = num_steps}, counter);
  return counter.bytes();
}

// A job of 32 layers, or of fewer where the file is too small for three such steps.
Plan MakePlan(const Options& options) {
  for (int num_layers = 32;; num_layers /= 2) {
    TrainingStep step = MakeTransformerStep(num_layers, options.seed);
    const std::int64_t once = BytesOf(step, 1);
    const std::int64_t again = BytesOf(step, 2) - once;
    if (num_layers == 1 || once + 2 * again <= options.bytes) {
      const std::int64_t more = (options.bytes - once + again / 2) / again;
      return {std::move(step), static_cast<int>(std::max<std::int64_t>(0, more)) + 1};
    }
  }
}

// "run.json.gz" gives "run.rank3.json.gz".
std::string PathOfRank(const Options& options, int rank) {
  if (options.ranks == 1) {
    return options.path;
  }
  const std::size_t name = options.path.find_last_of('/') + 1;
  const std::size_t dot = std::min(options.path.find('.', name), options.path.size());
  return fmt::format("{}.rank{}{}", options.path.substr(0, dot), rank, options.path.substr(dot));
}

void PrintStatistics(const std::string& path, const KinetoStatistics& statistics,
                     std::int64_t bytes, double seconds) {
  fmt::print("{}: {} bytes, {} rows, {} bytes a row, {:.2f} s, {:.0f} MB/s\n", path, bytes,
             statistics.rows, bytes / statistics.rows, seconds,
             static_cast<double>(bytes) / 1e6 / seconds);
  for (const CategoryCount& count : statistics.categories) {
    fmt::print("  {:20} {:>12} {:>6.1f} %\n", count.category, count.rows,
               100.0 * static_cast<double>(count.rows) / static_cast<double>(statistics.rows));
  }
}

void Replace(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The step is made for rank 0; others belong to other groups.
TrainingStep ForRank(TrainingStep step, int rank) {
  const std::string ours = RanksOfGroup(0);
  const std::string theirs = RanksOfGroup(rank);
  if (ours == theirs) {
    return step;
  }
  for (HostOp& op : step.ops) {
    Replace(op.arguments, ours, theirs);
  }
  for (RuntimeCall& call : step.calls) {
    if (call.work) {
      Replace(call.work->arguments, ours, theirs);
    }
  }
  return step;
}

Status WriteRank(const Options& options, const Plan& plan, int rank) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string path = PathOfRank(options, rank);
  ORRERY_TRY(const auto file, OutputFile::Create(path));
  TextWriter writer(file.get());
  const KinetoStatistics statistics = WriteKinetoFile(ForRank(plan.step, rank),
                                                      {.num_steps = plan.num_steps,
                                                       .rank = rank,
                                                       .world_size = std::max(8, options.ranks),
                                                       .seed = options.seed},
                                                      writer);
  ORRERY_TRY_STATUS(writer.Finish());
  ORRERY_TRY_STATUS(file->Close());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  PrintStatistics(path, statistics, writer.bytes(), elapsed.count());
  return {};
}

Status WriteAll(const Options& options) {
  const Plan plan = MakePlan(options);
  fmt::print("{} steps of {} operators\n", plan.num_steps, plan.step.ops.size());
  for (int rank = 0; rank < options.ranks; ++rank) {
    ORRERY_TRY_STATUS(WriteRank(options, plan, rank));
  }
  return {};
}

}  // namespace

}  // namespace orrery::bench

// A mistake in our own table of options may end the program.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  orrery::bench::Options options;
  CLI::App app("Writes Kineto JSON of any size, for benchmarks.");
  app.add_option("--bytes", options.bytes, "Size of each file before packing, about");
  app.add_option("--seed", options.seed, "Another seed gives other times");
  app.add_option("--ranks", options.ranks, "Files to write; more than one get .rankN in their name")
      ->check(CLI::Range(1, 1024));
  app.add_option("OUT", options.path, "File to write, packed where it ends in .gz")->required();
  CLI11_PARSE(app, argc, argv);

  const orrery::Status status = orrery::bench::WriteAll(options);
  if (!status) {
    fmt::print(stderr, "generate_kineto: {}\n", status.error().message());
    return 2;
  }
  return 0;
}
