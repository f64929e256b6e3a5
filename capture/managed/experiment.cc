#include "experiment.h"

#include <algorithm>

namespace managed {
namespace {

const char* const kBackings[] = {"written", "touched", "nobody"};
constexpr int64_t kChaseBlocks = 64;
constexpr int64_t kPagesBlocks = 64;
constexpr int64_t kTile = 64 * 1024;

Experiment OnPages(const char* kind, const char* backing, int64_t blocks, int64_t pages_per_block,
                   const char* order = "scattered") {
  Experiment experiment;
  experiment.kind = kind;
  experiment.backing = backing;
  experiment.order = order;
  experiment.blocks = blocks;
  experiment.pages_per_block = pages_per_block;
  return experiment;
}

Experiment OnBytes(const char* kind, const char* access, int64_t bytes, bool resident = false) {
  Experiment experiment;
  experiment.kind = kind;
  experiment.access = access;
  experiment.bytes = bytes;
  experiment.resident = resident;
  return experiment;
}

void AddSinglePages(std::vector<Experiment>& plan) {
  for (const char* backing : kBackings) {
    plan.push_back(OnPages("chase", backing, kChaseBlocks, 1));
  }
  for (const char* backing : kBackings) {
    for (int64_t lanes = 1; lanes <= 1024; lanes *= 2) {
      plan.push_back(OnPages("lanes", backing, lanes, 1));
    }
  }
}

void AddPages(std::vector<Experiment>& plan, int64_t blocks, const char* backing,
              const char* order) {
  for (int64_t pages = 1; pages <= kPagesPerBlock; pages *= 2) {
    plan.push_back(OnPages("pages", backing, blocks, pages, order));
  }
}

void AddStreams(std::vector<Experiment>& plan) {
  for (const int64_t mib : {64, 256, 1024, 2048}) {
    for (const bool resident : {false, true}) {
      for (const char* access : {"read", "write"}) {
        plan.push_back(OnBytes("stream", access, mib * kMiB, resident));
      }
    }
    plan.push_back(OnBytes("stream", "write", mib * kMiB));
    plan.back().backing = "nobody";
  }
}

// Adds experiments on the location of pages that only cudaMemcpy has written, as the weights of a
// loaded model.
void AddCopied(std::vector<Experiment>& plan) {
  for (const char* backing : {"copied", "copied_pinned"}) {
    plan.push_back(OnBytes("copied", "read", 256 * kMiB));
    plan.back().backing = backing;
  }
}

void AddCompute(std::vector<Experiment>& plan) {
  for (const int64_t compute_ns : {0, 500'000, 1'500'000}) {
    for (const bool resident : {true, false}) {
      plan.push_back(OnBytes("compute", "read", 256 * kMiB, resident));
      plan.back().compute_ns = compute_ns;
    }
  }
}

void AddPrefetches(std::vector<Experiment>& plan) {
  for (const int64_t calls : {1, 64}) {
    for (const int64_t bytes_each : {kPageBytes, kTile, kMiB, 2 * kMiB, 4 * kMiB, 16 * kMiB,
                                     64 * kMiB, 256 * kMiB, 1024 * kMiB}) {
      if (calls * bytes_each > 1024 * kMiB) {
        continue;
      }
      for (const char* direction : {"to_gpu", "to_host"}) {
        for (const bool resident : {false, true}) {
          plan.push_back(OnBytes("prefetch", direction, calls * bytes_each, resident));
          plan.back().calls = calls;
        }
      }
    }
  }
}

void AddOverlaps(std::vector<Experiment>& plan) {
  for (const char* direction : {"to_gpu", "to_host"}) {
    for (const int64_t compute_ns : {0, 20'000'000}) {
      for (const int64_t mib : {0, 256}) {
        if (compute_ns == 0 && mib == 0) {
          continue;
        }
        plan.push_back(OnBytes("overlap", direction, mib * kMiB));
        plan.back().calls = mib > 0 ? 1 : 0;
        plan.back().compute_ns = compute_ns;
      }
    }
  }
}

// In a stream that is still busy, as between the operators of a job.
void AddBehindWork(std::vector<Experiment>& plan) {
  for (const char* backing : {"written", "nobody"}) {
    for (const bool resident : {false, true}) {
      if (resident && std::string(backing) == "nobody") {
        continue;
      }
      for (const int64_t calls : {1, 16, 64}) {
        for (const int64_t bytes_each : {kTile, 2 * kMiB, 16 * kMiB}) {
          plan.push_back(OnBytes("behind", "to_gpu", calls * bytes_each, resident));
          plan.back().backing = backing;
          plan.back().calls = calls;
          plan.back().compute_ns = 2'000'000;
        }
      }
    }
  }
}

std::string List(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) {
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  }
  return "[" + text + "]";
}

}  // namespace

std::vector<Experiment> Plan() {
  std::vector<Experiment> plan;
  AddSinglePages(plan);
  AddPages(plan, kPagesBlocks, "written", "scattered");
  AddPages(plan, kPagesBlocks, "written", "sequential");
  AddCompute(plan);
  AddOverlaps(plan);
  AddBehindWork(plan);
  AddCopied(plan);
  AddPrefetches(plan);
  AddStreams(plan);
  AddPages(plan, kPagesBlocks, "touched", "scattered");
  AddPages(plan, 1, "written", "scattered");
  return plan;
}

int64_t SpanBytes(const Experiment& experiment) {
  return experiment.blocks > 0 ? experiment.blocks * kBlockBytes : experiment.bytes;
}

std::vector<uint32_t> PageOrder(const Experiment& experiment) {
  // Odd, so that no page of a block comes twice; about the golden section of a block, so that
  // pages lie apart from each other.
  constexpr int64_t kPageStep = 197;
  constexpr int64_t kBlockStep = 61;
  std::vector<uint32_t> pages;
  const int64_t count = experiment.blocks * experiment.pages_per_block;
  for (int64_t i = 0; i < count; ++i) {
    int64_t block = i / experiment.pages_per_block;
    int64_t page = i % experiment.pages_per_block;
    if (experiment.order == "scattered") {
      block = i % experiment.blocks;
      page = (i / experiment.blocks * kPageStep + block * kBlockStep) % kPagesPerBlock;
    }
    pages.push_back(static_cast<uint32_t>(block * kPagesPerBlock + page));
  }
  return pages;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      quoted += '\\';
    }
    if (static_cast<unsigned char>(character) >= ' ') {
      quoted += character;
    }
  }
  return quoted + "\"";
}

int64_t Median(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<int64_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string RowOf(const Experiment& experiment, const std::vector<int64_t>& total_ns,
                  const std::vector<int64_t>& call_ns) {
  std::string row = "{\"experiment\": " + Quoted(experiment.kind);
  const auto text = [&](const char* name, const std::string& value) {
    row += std::string(", \"") + name + "\": " + Quoted(value);
  };
  const auto number = [&](const char* name, int64_t value) {
    row += std::string(", \"") + name + "\": " + std::to_string(value);
  };
  text("backing", experiment.backing);
  text("order", experiment.order);
  text("access", experiment.access);
  row += std::string(", \"resident\": ") + (experiment.resident ? "true" : "false");
  number("blocks", experiment.blocks);
  number("pages_per_block", experiment.pages_per_block);
  number("bytes", experiment.bytes);
  number("calls", experiment.calls);
  number("compute_ns", experiment.compute_ns);
  number("median_ns", Median(total_ns));
  if (!call_ns.empty()) {
    number("call_median_ns", Median(call_ns));
  }
  return row + ", \"times_ns\": " + List(total_ns) + "}";
}

}  // namespace managed
