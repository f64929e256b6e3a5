#include "experiment.h"

namespace managed {
namespace {

const char* const kBackings[] = {"written", "touched", "nobody"};
constexpr int64_t kChaseBlocks = 64;
constexpr int64_t kPagesBlocks = 64;
constexpr int64_t kTile = 64 * 1024;

void AddSinglePages(std::vector<Experiment>& plan) {
  for (const char* backing : kBackings) {
    Experiment chase;
    chase.kind = "chase";
    chase.backing = backing;
    chase.blocks = kChaseBlocks;
    chase.pages_per_block = 1;
    plan.push_back(chase);
  }
  for (const char* backing : kBackings) {
    for (int64_t lanes = 1; lanes <= 1024; lanes *= 2) {
      Experiment experiment;
      experiment.kind = "lanes";
      experiment.backing = backing;
      experiment.blocks = lanes;
      experiment.pages_per_block = 1;
      plan.push_back(experiment);
    }
  }
}

void AddPages(std::vector<Experiment>& plan, int64_t blocks, const char* backing,
              const char* order) {
  for (int64_t pages = 1; pages <= kPagesPerBlock; pages *= 2) {
    Experiment experiment;
    experiment.kind = "pages";
    experiment.backing = backing;
    experiment.order = order;
    experiment.blocks = blocks;
    experiment.pages_per_block = pages;
    plan.push_back(experiment);
  }
}

void AddStreams(std::vector<Experiment>& plan) {
  for (const int64_t mib : {64, 256, 1024, 2048}) {
    for (const bool resident : {false, true}) {
      Experiment read;
      read.kind = "stream";
      read.bytes = mib * kMiB;
      read.resident = resident;
      plan.push_back(read);
      Experiment write = read;
      write.access = "write";
      plan.push_back(write);
    }
    Experiment populate;
    populate.kind = "stream";
    populate.access = "write";
    populate.backing = "nobody";
    populate.bytes = mib * kMiB;
    plan.push_back(populate);
  }
}

// Where memory lies that only cudaMemcpy has written, as the weights of a model that is loaded.
void AddCopied(std::vector<Experiment>& plan) {
  for (const char* backing : {"copied", "copied_pinned"}) {
    Experiment copied;
    copied.kind = "copied";
    copied.backing = backing;
    copied.bytes = 256 * kMiB;
    plan.push_back(copied);
  }
}

void AddCompute(std::vector<Experiment>& plan) {
  for (const int64_t compute_ns : {0, 500'000, 1'500'000}) {
    for (const bool resident : {true, false}) {
      Experiment compute;
      compute.kind = "compute";
      compute.bytes = 256 * kMiB;
      compute.compute_ns = compute_ns;
      compute.resident = resident;
      plan.push_back(compute);
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
          Experiment prefetch;
          prefetch.kind = "prefetch";
          prefetch.access = direction;
          prefetch.bytes = calls * bytes_each;
          prefetch.calls = calls;
          prefetch.resident = resident;
          plan.push_back(prefetch);
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
        Experiment overlap;
        overlap.kind = "overlap";
        overlap.access = direction;
        overlap.bytes = mib * kMiB;
        overlap.calls = mib > 0 ? 1 : 0;
        overlap.compute_ns = compute_ns;
        plan.push_back(overlap);
      }
    }
  }
}

// In a stream that still works, as between the operators of a job.
void AddBehindWork(std::vector<Experiment>& plan) {
  for (const char* backing : {"written", "nobody"}) {
    for (const bool resident : {false, true}) {
      for (const int64_t calls : {1, 16, 64}) {
        for (const int64_t bytes_each : {kTile, 2 * kMiB, 16 * kMiB}) {
          if (resident && std::string(backing) == "nobody") {
            continue;
          }
          Experiment behind;
          behind.kind = "behind";
          behind.access = "to_gpu";
          behind.backing = backing;
          behind.resident = resident;
          behind.bytes = calls * bytes_each;
          behind.calls = calls;
          behind.compute_ns = 2'000'000;
          plan.push_back(behind);
        }
      }
    }
  }
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

}  // namespace managed
