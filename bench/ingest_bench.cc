// Reads one trace file, once, and prints what that took as a line of JSON. A process of its own for
// each reading gives each its own peak of memory; bench/ingest.py makes the table.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::bench {

namespace {

struct Options {
  std::string path;
  int threads = 0;
  std::string container;
};

Result<ingest::FileContent> ReadFile(const Options& options) {
  ORRERY_TRY(const ingest::InputFile file, ingest::InputFile::Open(options.path));
  for (const ingest::Format* format : ingest::KnownFormats()) {
    if (format->matches(file)) {
      return format->read(file, {.threads = options.threads, .unpack = {}, .step_marker = {}});
    }
  }
  return Fail(Error::Kind::kUnsupported, "no known format");
}

std::int64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

void PrintResult(const ingest::FileContent& content, double seconds, std::int64_t peak_bytes) {
  std::size_t activities = 0;
  std::size_t host_ops = 0;
  std::size_t python_calls = 0;
  bool has_loss = content.problems.has_loss();
  for (const trace::Trace& rank : content.traces) {
    activities += rank.activities.size();
    host_ops += rank.host_ops.size();
    python_calls += rank.python_calls.size();
    has_loss = has_loss || rank.problems.has_loss();
  }
  fmt::print(
      "{{\"seconds\": {:.6f}, \"peak_bytes\": {}, \"activities\": {}, \"host_ops\": {}, "
      "\"python_calls\": {}, \"has_loss\": {}}}\n",
      seconds, peak_bytes, activities, host_ops, python_calls, has_loss);
}

Status Measure(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  ORRERY_TRY(ingest::FileContent content, ReadFile(options));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  PrintResult(content, elapsed.count(), PeakMemoryBytes());
  if (!options.container.empty()) {
    trace::TraceSet set;
    set.ranks = std::move(content.traces);
    return trace::WriteOrr(set, options.container);
  }
  return {};
}

}  // namespace

}  // namespace orrery::bench

// A mistake in our own table of options may end the program.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  orrery::ReturnFreedMemoryEarly();  // as the program does
  orrery::bench::Options options;
  CLI::App app("Reads a trace file and prints seconds and peak memory as JSON.");
  app.add_option("FILE", options.path, "A file of any format that Orrery reads")->required();
  app.add_option("--threads", options.threads, "Threads of the reader; 0: one for each core");
  app.add_option("--write", options.container, "Afterwards, write the traces to this .orr file");
  CLI11_PARSE(app, argc, argv);

  const orrery::Status status = orrery::bench::Measure(options);
  if (!status) {
    fmt::print(stderr, "ingest_bench: {}: {}\n", options.path, status.error().message());
    return 2;
  }
  return 0;
}
