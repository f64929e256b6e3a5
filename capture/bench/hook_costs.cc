// Measures the cost of an event on its thread, in nanoseconds: `make -C capture hook-costs`. Needs
// neither a GPU nor the vendor's libraries; a thread writes out as in a recording.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "capture/recorder/process_recorder.h"
#include "capture/recorder/recorder_api.h"

namespace {

constexpr int kEvents = 2'000;  // of a step
constexpr int kRounds = 51;

/// The median over rounds of the time of `once`.
template <typename Function>
void Show(const char* name, Function&& once) {
  std::array<double, kRounds> costs{};
  for (double& cost : costs) {
    const auto begin = std::chrono::steady_clock::now();
    for (int event = 0; event < kEvents; ++event) {
      once(event);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    cost = took.count() / kEvents;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::sort(costs.begin(), costs.end());
  std::printf("%-34s %7.1f ns   (%.1f to %.1f)\n", name, costs[kRounds / 2], costs.front(),
              costs.back());
}

void ShowAll(const orrery::capture::Recorder& recorder) {
  constexpr std::array kNames = {"aten::add",
                                 "aten::convolution",
                                 "aten::conv2d",
                                 "aten::empty",
                                 "AddmmBackward0",
                                 "aten::native_batch_norm",
                                 "autograd::engine::evaluate_function: ConvolutionBackward0"};
  volatile std::int64_t seen = 0;
  Show("clock", [&](int) { seen = recorder.now_ns(); });
  Show("allocation and its two frees", [](int event) {
    const auto address = 4096 + static_cast<uint64_t>(event) * 512;
    orrery_memory_allocated(2, address, 512, 500, 0, 0, 1 << 20, 1 << 21);
    orrery_memory_freed(2, address, 1, 0, 0, 1 << 20, 1 << 21);
    orrery_memory_freed(2, address, 2, 0, 0, 1 << 20, 1 << 21);
  });
  Show("operator, begin and end", [&](int event) {
    orrery_operator_end(
        orrery_operator_begin(kNames[static_cast<std::size_t>(event) % kNames.size()], -1, 0, 0));
  });
}

}  // namespace

int main() {
  setenv("ORRERY_CAPTURE_OUT", "/tmp/hook-costs.orrs", 0);
  auto& recorder = orrery::capture::ProcessRecorder(
      {.producer = "hook costs", .ordering = orrery::capture::Ordering::kByTime});
  recorder.SetDeferring(true);
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    while (!is_done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      recorder.WriteOut();
    }
  });
  ShowAll(recorder);
  is_done = true;
  writer.join();
  std::remove(recorder.sink().path().c_str());
}
