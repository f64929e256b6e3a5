#include <array>

#include "orrery/api/fields.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit_overlap.h"

namespace orrery::api {
namespace {

constexpr auto kKernels = std::to_array<Field<FitKernelsResult>>({
    MakeField<&FitKernelsResult::output>("output", "", "the request"),
    MakeField<&FitKernelsResult::files>("files", "", "model files that were written"),
    MakeField<&FitKernelsResult::models>("models", "", "fitted models"),
    MakeField<&FitKernelsResult::rows>("rows", "", "measured times that were used"),
    MakeField<&FitKernelsResult::bytes>("bytes", "bytes", "size of the model files"),
    MakeField<&FitKernelsResult::rejected_rows>("rejected_rows", "",
                                                "measured times that were not used"),
});

constexpr auto kSiblings = std::to_array<Field<FitSiblingsResult>>({
    MakeField<&FitSiblingsResult::output>("output", "", "the file that was written"),
    MakeField<&FitSiblingsResult::operators>("operators", "", "fitted levels of operators"),
    MakeField<&FitSiblingsResult::rows>("rows", "", "measured times of the chosen GPUs"),
    MakeField<&FitSiblingsResult::rejected_rows>("rejected_rows", "",
                                                 "measured times that were not used"),
});

constexpr auto kBound = std::to_array<Field<FitBound>>({
    MakeField<&FitBound::constant>("constant", "", "name of the constant"),
    MakeField<&FitBound::least>("least", "", "lower bound"),
    MakeField<&FitBound::most>("most", "", "upper bound"),
    MakeField<&FitBound::value>("value", "", "prior, which it keeps"),
});

constexpr auto kOutlier = std::to_array<Field<FitOutlier>>({
    MakeField<&FitOutlier::file>("file", "", "file of the row"),
    MakeField<&FitOutlier::line>("line", "", "line of the row; 0: not known"),
    MakeField<&FitOutlier::collective>("collective", "", "kind of the collective"),
    MakeField<&FitOutlier::bytes>("bytes", "bytes", "size of the message"),
    MakeField<&FitOutlier::gpus>("gpus", "", "number of GPUs"),
    MakeField<&FitOutlier::measured_s>("measured_s", "s", "measured time"),
    MakeField<&FitOutlier::fitted_s>("fitted_s", "s", "time by the fit"),
});

constexpr auto kMachine = std::to_array<Field<FittedMachine>>({
    MakeField<&FittedMachine::machine>("machine", "", "name of the cluster in the catalogue"),
    MakeField<&FittedMachine::source>("source", "", "source of the measurements"),
    MakeField<&FittedMachine::setup>("setup", "", "name that the source has for the machine"),
    MakeField<&FittedMachine::rows>("rows", "", "measured times that were used"),
    MakeField<&FittedMachine::most_gpus>("most_gpus", "", "most GPUs of a measured time"),
    MakeField<&FittedMachine::nccl_version>("nccl_version", "",
                                            "version of NCCL whose tuner is used"),
    MakeField<&FittedMachine::version_told>(
        "version_told", "", "the data name that version; else it is the one that fits best"),
    MakeField<&FittedMachine::settings>("settings", "", "assumed settings of NCCL"),
    MakeField<&FittedMachine::machines_of_class>("machines_of_class", "",
                                                 "machines that share the constants"),
    MakeField<&FittedMachine::constants>("constants", "", "fitted constants by name"),
    MakeField<&FittedMachine::at_bounds>("at_bounds", "",
                                         "constants that the rows drive to a bound"),
    MakeField<&FittedMachine::mape>("mape", "%", "mean absolute error in sample"),
    MakeField<&FittedMachine::median>("median", "%", "median absolute error in sample"),
    MakeField<&FittedMachine::large_mape>("large_mape", "%",
                                          "mean absolute error of messages of at least 4 MB"),
    MakeField<&FittedMachine::outliers>("outliers", "", "rows with an error of more than 30 %"),
});

constexpr auto kCollectives = std::to_array<Field<FitCollectivesResult>>({
    MakeField<&FitCollectivesResult::output>("output", "", "the file that was written"),
    MakeField<&FitCollectivesResult::machines>("machines", "", "fitted machines"),
    MakeField<&FitCollectivesResult::skipped>("skipped", "",
                                              "machines that were not fitted, with the reason"),
    MakeField<&FitCollectivesResult::rejected_rows>("rejected_rows", "",
                                                    "measured times that were not used"),
    MakeField<&FitCollectivesResult::rows_without_gpu>("rows_without_gpu", "",
                                                       "measured times that do not name their GPU"),
});

constexpr auto kOverlap = std::to_array<Field<FitOverlapResult>>({
    MakeField<&FitOverlapResult::output>("output", "", "the file that was written"),
    MakeField<&FitOverlapResult::pairs>("pairs", "", "measured pairs that were used"),
    MakeField<&FitOverlapResult::bytes>("bytes", "bytes", "size of the model file"),
    MakeField<&FitOverlapResult::mape>(
        "mape", "%", "mean absolute error of the duration of kernels that were held out"),
    MakeField<&FitOverlapResult::within_10>("within_10", "%",
                                            "share of these pairs with an error of at most 10 %"),
    MakeField<&FitOverlapResult::rejected_rows>("rejected_rows", "",
                                                "measured pairs that were not used"),
});

constexpr auto kClock = std::to_array<Field<FitOverlapClock>>({
    MakeField<&FitOverlapClock::rank>("rank", "", "rank"),
    MakeField<&FitOverlapClock::first>("first", "", "number of the first kernel, from 1"),
    MakeField<&FitOverlapClock::last>("last", "", "number of the last kernel"),
    MakeField<&FitOverlapClock::ratio>(
        "ratio", "", "duration together over that alone, median of kernels without overlap"),
    MakeField<&FitOverlapClock::kernels>("kernels", "", "kernels without overlap"),
    MakeField<&FitOverlapClock::left_out>("left_out", "",
                                          "the clocks differ, so its pairs are not used"),
});

constexpr auto kKernel = std::to_array<Field<FitOverlapKernel>>({
    MakeField<&FitOverlapKernel::kernel>("kernel", "", "function"),
    MakeField<&FitOverlapKernel::pairs>("pairs", "", "pairs that were kept"),
    MakeField<&FitOverlapKernel::alone_us>("alone_us", "us", "sum of the durations alone"),
    MakeField<&FitOverlapKernel::together_us>("together_us", "us",
                                              "sum of the durations with communication"),
    MakeField<&FitOverlapKernel::overlap_us>("overlap_us", "us",
                                             "sum of the times concurrent with communication"),
    MakeField<&FitOverlapKernel::slowdown>("slowdown", "",
                                           "median of s*, weighted by overlapped time"),
});

using Traces = FitOverlapFromTracesResult;

constexpr auto kTraces = std::to_array<Field<Traces>>({
    MakeField<&Traces::matched>("matched", "", "kernels that are in both runs"),
    MakeField<&Traces::only_alone>("only_alone", "", "kernels of the run alone only"),
    MakeField<&Traces::only_together>("only_together", "",
                                      "kernels of the run with communication only"),
    MakeField<&Traces::kept>("kept", "", "pairs that were kept"),
    MakeField<&Traces::rejected>("rejected", "", "pairs that were left out, by reason"),
    MakeField<&Traces::alone_ns>("alone_ns", "ns", "sum of the durations of pairs alone"),
    MakeField<&Traces::together_ns>("together_ns", "ns",
                                    "sum of their durations with communication"),
    MakeField<&Traces::clock_segments>("clock_segments", "",
                                       "parts of the run in which the ratio of clocks is constant"),
    MakeField<&Traces::kernels>("kernels", "",
                                "kernels by function, longest time with communication first"),
    MakeField<&Traces::missing_counters>("missing_counters", "", "counters that no kernel has")
        .IfKnown(),
});

constexpr auto kBoard = std::to_array<Field<FittedBoard>>({
    MakeField<&FittedBoard::gpu>("gpu", "", "GPU"),
    MakeField<&FittedBoard::idle_w>("idle_w", "W", "power of a board that does nothing"),
    MakeField<&FittedBoard::active_w>("active_w", "W", "power of its multiprocessors"),
    MakeField<&FittedBoard::tensor_w>("tensor_w", "W",
                                      "power of its tensor cores at their 16-bit peak"),
    MakeField<&FittedBoard::memory_w>("memory_w", "W", "power of its memory at full bandwidth"),
    MakeField<&FittedBoard::narrow>("narrow", "",
                                    "power of narrower types at their peak relative to tensor_w"),
    MakeField<&FittedBoard::burst_short>(
        "burst_short", "", "power of bursts of kernels of 30 us relative to the limit"),
    MakeField<&FittedBoard::burst_long>("burst_long", "",
                                        "power of bursts of kernels of 1 ms relative to the limit"),
    MakeField<&FittedBoard::rows>("rows", "", "sustained times of the GPU"),
});

constexpr auto kPowerErrors = std::to_array<Field<FitPowerErrors>>({
    MakeField<&FitPowerErrors::gpu>("gpu", "", "GPU"),
    MakeField<&FitPowerErrors::op>("operator", "", "kind of operator"),
    MakeField<&FitPowerErrors::type>("type", "", "data type"),
    MakeField<&FitPowerErrors::predicted>(
        "predicted", "", "prediction that is evaluated: of a burst, or sustained by the fit"),
    MakeField<&FitPowerErrors::rows>("rows", "", "sustained times that were held out"),
    MakeField<&FitPowerErrors::mape>("mape", "%", "mean absolute error"),
    MakeField<&FitPowerErrors::gmae>("gmae", "%", "geometric mean of the absolute errors"),
    MakeField<&FitPowerErrors::median>("median", "%", "median absolute error"),
    MakeField<&FitPowerErrors::p95>("p95", "%",
                                    "absolute error that 95 % of the rows do not exceed"),
    MakeField<&FitPowerErrors::within_10>("within_10", "%",
                                          "share of rows with an error of at most 10 %"),
    MakeField<&FitPowerErrors::bias>("bias", "%", "mean error with its sign"),
    MakeField<&FitPowerErrors::r2>("r2", "", "R² of the logarithms of the times"),
});

constexpr auto kPower = std::to_array<Field<FitPowerResult>>({
    MakeField<&FitPowerResult::output>("output", "", "the file that was written"),
    MakeField<&FitPowerResult::boards>("boards", "", "fitted power of each GPU"),
    MakeField<&FitPowerResult::errors>("errors", "",
                                       "errors on half of the shapes, by a fit to the other half"),
    MakeField<&FitPowerResult::rejected_rows>("rejected_rows", "",
                                              "measured times that were not used"),
});

constexpr auto kHost = std::to_array<Field<FitHostResult>>({
    MakeField<&FitHostResult::output>("output", "", "the file that was written"),
    MakeField<&FitHostResult::entries>("entries", "", "fitted costs"),
    MakeField<&FitHostResult::recordings>("recordings", "", "recordings that were used"),
    MakeField<&FitHostResult::profiler_cost_us>(
        "profiler_cost_us", "us", "overhead of the profiler per event, median of the recordings"),
});

constexpr auto kJitter = std::to_array<Field<FitJitterResult>>({
    MakeField<&FitJitterResult::records>("records", "", "records of the table"),
    MakeField<&FitJitterResult::in_warm_up>("in_warm_up", "",
                                            "records left out at the beginning of runs"),
    MakeField<&FitJitterResult::at_the_end>("at_the_end", "",
                                            "records left out at the end of runs"),
    MakeField<&FitJitterResult::in_small_groups>(
        "in_small_groups", "", "records left out of runs or windows with too few of them"),
    MakeField<&FitJitterResult::systems>("systems", "", "systems of the fit"),
    MakeField<&FitJitterResult::submitters>("submitters", "", "submitters of these systems"),
    MakeField<&FitJitterResult::least_gpus>("least_gpus", "", "GPUs of the smallest system"),
    MakeField<&FitJitterResult::most_gpus>("most_gpus", "", "GPUs of the largest system"),
    MakeField<&FitJitterResult::gpus>("gpus", "", "names of their GPUs"),
    MakeField<&FitJitterResult::step_sigma>("step_sigma", "",
                                            "deviation of one step relative to the median"),
    MakeField<&FitJitterResult::sigma_of_32_steps>("sigma_of_32_steps", "",
                                                   "the same of the mean of 32 steps"),
    MakeField<&FitJitterResult::sigma_deviation>(
        "sigma_deviation", "", "deviation of the logarithm of step_sigma between systems"),
    MakeField<&FitJitterResult::stalls_per_gpu_s>("stalls_per_gpu_s", "1/s",
                                                  "stalls per GPU and second"),
    MakeField<&FitJitterResult::median_stall_s>("median_stall_s", "s", "median length of a stall"),
    MakeField<&FitJitterResult::p99_stall_s>("p99_stall_s", "s",
                                             "length that 99 % of the stalls do not exceed"),
    MakeField<&FitJitterResult::longest_stall_s>("longest_stall_s", "s", "longest stall"),
});

constexpr auto kFramework = std::to_array<Field<FittedFramework>>({
    MakeField<&FittedFramework::name>("name", "", "framework"),
    MakeField<&FittedFramework::rows>("rows", "", "published runs that were used"),
    MakeField<&FittedFramework::error_before>(
        "error_before", "", "mean absolute error with the mean of the population, relative"),
    MakeField<&FittedFramework::error_after>("error_after", "",
                                             "mean absolute error with the fit, relative"),
    MakeField<&FittedFramework::scalars>("scalars", "", "fitted scalars by name"),
});

constexpr auto kFrameworks = std::to_array<Field<FitFrameworksResult>>({
    MakeField<&FitFrameworksResult::frameworks>("frameworks", "", "frameworks that have rows"),
});

}  // namespace

ORRERY_SET_FIELDS(FitKernelsResult, kKernels)
ORRERY_SET_FIELDS(FitSiblingsResult, kSiblings)
ORRERY_SET_FIELDS(FitBound, kBound)
ORRERY_SET_FIELDS(FitOutlier, kOutlier)
ORRERY_SET_FIELDS(FittedMachine, kMachine)
ORRERY_SET_FIELDS(FitCollectivesResult, kCollectives)
ORRERY_SET_FIELDS(FitOverlapResult, kOverlap)
ORRERY_SET_FIELDS(FitOverlapClock, kClock)
ORRERY_SET_FIELDS(FitOverlapKernel, kKernel)
ORRERY_SET_FIELDS(FitOverlapFromTracesResult, kTraces)
ORRERY_SET_FIELDS(FittedBoard, kBoard)
ORRERY_SET_FIELDS(FitPowerErrors, kPowerErrors)
ORRERY_SET_FIELDS(FitPowerResult, kPower)
ORRERY_SET_FIELDS(FitHostResult, kHost)
ORRERY_SET_FIELDS(FitJitterResult, kJitter)
ORRERY_SET_FIELDS(FittedFramework, kFramework)
ORRERY_SET_FIELDS(FitFrameworksResult, kFrameworks)

}  // namespace orrery::api
