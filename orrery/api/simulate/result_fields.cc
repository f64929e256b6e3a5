#include <array>

#include "orrery/api/fields.h"
#include "orrery/api/simulate.h"

// Fields of results, in the order of their JSON.

namespace orrery::api {

namespace {

constexpr auto kStepEnergy = std::to_array<Field<StepEnergy>>({
    MakeField<&StepEnergy::step_j>("step_j", "J", "energy of all GPUs in one step"),
    MakeField<&StepEnergy::watts_per_gpu>("watts_per_gpu", "W",
                                          "mean power of a GPU over the step"),
    MakeField<&StepEnergy::clock>("clock", "",
                                  "share of the highest clock that the power limit leaves"),
    MakeField<&StepEnergy::month_kwh>("month_kwh", "kWh", "energy of all GPUs in 30 days"),
});

constexpr auto kStepUtilisation = std::to_array<Field<StepUtilisation>>({
    MakeField<&StepUtilisation::flops>("flops", "FLOP", "operations of one step on all GPUs"),
    MakeField<&StepUtilisation::share>("share", "", "share of the dense peak of all GPUs"),
    MakeField<&StepUtilisation::tflops_per_s_a_gpu>("tflops_per_s_a_gpu", "TFLOP/s",
                                                    "mean rate of a GPU"),
    MakeField<&StepUtilisation::definition>("definition", "", "counted operations"),
});

constexpr auto kStepVariation = std::to_array<Field<StepVariation>>({
    MakeField<&StepVariation::count>("count", "", "number of steps drawn"),
    MakeField<&StepVariation::seed>("seed", "", "seed of the draw"),
    MakeField<&StepVariation::mean_s>("mean_s", "s", "mean step"),
    MakeField<&StepVariation::best_s>("best_s", "s", "shortest step"),
    MakeField<&StepVariation::worst_s>("worst_s", "s", "longest step"),
    MakeField<&StepVariation::mean_over_best>("mean_over_best", "", "mean over shortest step"),
    MakeField<&StepVariation::p95_low_s>(
        "p95_low_s", "s", "95th percentile on systems that vary less than nine in ten"),
    MakeField<&StepVariation::p95_high_s>(
        "p95_high_s", "s", "95th percentile on systems that vary more than nine in ten"),
    MakeField<&StepVariation::stalls_per_step>("stalls_per_step", "", "expected stalls of a step"),
    MakeField<&StepVariation::fitted_systems>("fitted_systems", "",
                                              "systems that the jitter is fitted to"),
    MakeField<&StepVariation::fitted_submitters>("fitted_submitters", "",
                                                 "submitters of those systems"),
    MakeField<&StepVariation::extrapolates_in>(
        "extrapolates_in", "", "properties of the job outside the range of the fit"),
});

constexpr auto kStepBubble = std::to_array<Field<StepBubble>>({
    MakeField<&StepBubble::mean_s>("mean_s", "s", "bubble of a rank, mean over ranks"),
    MakeField<&StepBubble::slowest_rank_s>("slowest_rank_s", "s", "bubble of the slowest rank"),
});

constexpr auto kStepCheckpoint = std::to_array<Field<StepCheckpoint>>({
    MakeField<&StepCheckpoint::bytes>("bytes", "bytes", "size of the checkpoint"),
    MakeField<&StepCheckpoint::storage_bytes_per_s>("storage_bytes_per_s", "bytes/s",
                                                    "rate of the storage"),
    MakeField<&StepCheckpoint::gpu_bytes_per_s>("gpu_bytes_per_s", "bytes/s",
                                                "highest rate of a rank"),
    MakeField<&StepCheckpoint::added_s>("added_s", "s",
                                        "the step less the same step without a checkpoint"),
    MakeField<&StepCheckpoint::written_s>(
        "written_s", "s",
        "time after which it is written; null where that is longer than the step"),
});

constexpr auto kStepCommunication = std::to_array<Field<StepCommunication>>({
    MakeField<&StepCommunication::dimension>("dimension", "", "dimension of the plan"),
    MakeField<&StepCommunication::calls>("calls", "", "number of calls on the slowest rank"),
    MakeField<&StepCommunication::bytes>("bytes", "bytes", "bytes of those calls"),
    MakeField<&StepCommunication::transfer_s>("transfer_s", "s", "time that transfers take"),
    MakeField<&StepCommunication::contended_s>("contended_s", "s",
                                               "part of it lost to others on the same links"),
    MakeField<&StepCommunication::wait_s>("wait_s", "s", "time until the last member arrives"),
    MakeField<&StepCommunication::exposed_s>("exposed_s", "s", "time that no kernel hides"),
});

constexpr auto kStepSlowdown = std::to_array<Field<StepSlowdown>>({
    MakeField<&StepSlowdown::kernels>("kernels", "", "kernels that took longer than alone"),
    MakeField<&StepSlowdown::kernels_alone_s>("kernels_alone_s", "s",
                                              "duration of those kernels alone"),
    MakeField<&StepSlowdown::kernels_s>("kernels_s", "s", "duration of those kernels in the step"),
    MakeField<&StepSlowdown::transfers>("transfers", "", "transfers that took longer than alone"),
    MakeField<&StepSlowdown::transfers_alone_s>("transfers_alone_s", "s",
                                                "duration of those transfers alone"),
    MakeField<&StepSlowdown::transfers_s>("transfers_s", "s",
                                          "duration of those transfers in the step"),
    MakeField<&StepSlowdown::delayed_s>("delayed_s", "s",
                                        "wait of kernels and transfers for resources of the GPU"),
});

constexpr auto kStepStage = std::to_array<Field<StepStage>>({
    MakeField<&StepStage::name>("name", "", "name of the stage, or of the class of ranks"),
    MakeField<&StepStage::stage>("stage", "", "stage of the pipeline; null without one"),
    MakeField<&StepStage::rank>("rank", "", "its slowest rank"),
    MakeField<&StepStage::ranks>("ranks", "", "number of its ranks"),
    MakeField<&StepStage::busy_s>("busy_s", "s", "kernels and exposed communication other than pp")
        .IfKnown(),
    MakeField<&StepStage::gpu>("gpu", "", "GPU, where ranks have different ones").IfAny(),
    MakeField<&StepStage::memory_usable_bytes>("memory_usable_bytes", "bytes",
                                               "memory that a program can use, where GPUs differ")
        .IfKnown(),
    MakeField<&StepStage::memory_peak_bytes>("memory_peak_bytes", "bytes", "peak tensor memory"),
    MakeField<&StepStage::memory_needed_bytes>("memory_needed_bytes", "bytes",
                                               "peak with fragmentation"),
    MakeField<&StepStage::memory_peak_at_s>("memory_peak_at_s", "s", "time of the peak"),
    MakeField<&StepStage::memory_parts>("memory_parts", "bytes", "memory at the peak by use"),
});

constexpr auto kStepChange = std::to_array<Field<StepChange>>({
    MakeField<&StepChange::what>("what", "", "change"),
    MakeField<&StepChange::setting>("setting", "", "key and value of --set").IfAny(),
    MakeField<&StepChange::step_time_s>("step_time_s", "s", "step with the change"),
    MakeField<&StepChange::gain>("gain", "", "share of the time of a sample that is saved"),
    MakeField<&StepChange::gain_low>("gain_low", "", "lower end of its 80 % interval").IfKnown(),
    MakeField<&StepChange::gain_high>("gain_high", "", "upper end of its 80 % interval").IfKnown(),
    MakeField<&StepChange::fits_in_memory>("fits_in_memory", "", "fits into memory"),
    MakeField<&StepChange::is_worthwhile>("is_worthwhile", "", "fits, and gains at least 0.01"),
});

constexpr auto kStepReplayedRank = std::to_array<Field<StepReplayedRank>>({
    MakeField<&StepReplayedRank::rank>("rank", "", "recorded rank"),
    MakeField<&StepReplayedRank::measured_step_s>("measured_step_s", "s",
                                                  "its step without the profiler"),
    MakeField<&StepReplayedRank::profiler_cost_us>(
        "profiler_cost_us", "us", "cost of the profiler for each event of the host"),
    MakeField<&StepReplayedRank::profiler_cost_from>("profiler_cost_from", "",
                                                     "source of that cost"),
});

constexpr auto kSimulateResult = std::to_array<Field<SimulateResult>>({
    MakeField<&SimulateResult::left_out>(
        "left_out", "", "parts of the job as written that the simulation leaves out"),
    MakeField<&SimulateResult::step_time_s>("step_time_s", "s",
                                            "one training step of the whole job"),
    MakeField<&SimulateResult::low_s>("low_s", "s",
                                      "lower end of the 80 % interval of a measured step")
        .IfKnown(),
    MakeField<&SimulateResult::high_s>("high_s", "s",
                                       "upper end of the 80 % interval of a measured step")
        .IfKnown(),
    MakeField<&SimulateResult::interval_note>("interval_note", "", "reason of a wide interval")
        .IfAny(),
    MakeField<&SimulateResult::p50_s>("p50_s", "s", "median of steps that vary (--steps)")
        .IfKnown(),
    MakeField<&SimulateResult::p95_s>("p95_s", "s", "95th percentile of steps that vary").IfKnown(),
    MakeField<&SimulateResult::p99_s>("p99_s", "s", "99th percentile of steps that vary").IfKnown(),
    MakeField<&SimulateResult::steps>("steps", "", "steps that vary around the simulated one")
        .IfKnown(),
    MakeField<&SimulateResult::energy>("energy", "",
                                       "energy of the GPUs, where their power is known")
        .IfKnown(),
    MakeField<&SimulateResult::tokens_per_s>(
        "tokens_per_s", "tokens/s", "throughput of the whole job; null for models without tokens"),
    MakeField<&SimulateResult::samples_per_s>("samples_per_s", "samples/s",
                                              "throughput of the whole job"),
    MakeField<&SimulateResult::mfu>("mfu", "", "model FLOPs utilisation, a share"),
    MakeField<&SimulateResult::hfu>("hfu", "", "hardware FLOPs utilisation, a share"),
    MakeField<&SimulateResult::model_flops>("model_flops", "", "parts of mfu").IfKnown(),
    MakeField<&SimulateResult::hardware_flops>("hardware_flops", "", "parts of hfu").IfKnown(),
    MakeField<&SimulateResult::memory_peak_bytes>("memory_peak_bytes", "bytes",
                                                  "peak tensor memory of the fullest stage"),
    MakeField<&SimulateResult::memory_needed_bytes>("memory_needed_bytes", "bytes",
                                                    "peak with fragmentation"),
    MakeField<&SimulateResult::memory_usable_bytes>("memory_usable_bytes", "bytes",
                                                    "memory of its GPU that a program can use"),
    MakeField<&SimulateResult::out_of_memory>(
        "out_of_memory", "", "needs more memory than there is; times assume GPUs with enough"),
    MakeField<&SimulateResult::nearly_out_of_memory>("nearly_out_of_memory", "",
                                                     "needs more than 95 % of it, and may fail"),
    MakeField<&SimulateResult::breakdown_s>(
        "breakdown_s", "s", "parts of the step of the slowest rank, which add up to it")
        .IfKnown(),
    MakeField<&SimulateResult::breakdown_rank>("breakdown_rank", "",
                                               "the slowest rank: with most work of its own")
        .IfKnown(),
    MakeField<&SimulateResult::exposed_communication_s>(
        "exposed_communication_s", "s",
        "time in which communication runs and no kernel does, mean over ranks")
        .IfKnown(),
    MakeField<&SimulateResult::network>("network", "",
                                        "how transfers share the network: alone, shared or flows"),
    MakeField<&SimulateResult::contended_ps>("contended_ps", "ps",
                                             "time that sharing the network adds to the step")
        .IfKnown(),
    MakeField<&SimulateResult::bubble>("bubble", "", "pipeline bubble").IfKnown(),
    MakeField<&SimulateResult::checkpoint>("checkpoint", "",
                                           "checkpoint that is written beside the step")
        .IfKnown(),
    MakeField<&SimulateResult::communication>("communication", "",
                                              "communication of the slowest rank by dimension")
        .IfKnown(),
    MakeField<&SimulateResult::held_up>(
        "held_up", "", "slowdown of kernels and transfers by each other on the slowest rank")
        .IfKnown(),
    MakeField<&SimulateResult::stages>(
        "stages", "", "stages of the pipeline, or classes of ranks with the same program")
        .IfKnown(),
    MakeField<&SimulateResult::bottleneck>("bottleneck", "",
                                           "one or two sentences: what binds the step")
        .IfKnown(),
    MakeField<&SimulateResult::causes>(
        "causes", "", "the step without each difference between ranks, nodes or links")
        .IfKnown(),
    MakeField<&SimulateResult::advice>("advice", "", "changes of the job that were simulated")
        .IfKnown(),
    MakeField<&SimulateResult::replayed_ranks>("replayed_ranks", "",
                                               "recorded ranks that were simulated")
        .IfAny(),
    MakeField<&SimulateResult::what_ifs>("what_ifs", "",
                                         "differences from equal ranks and a healthy network"),
    MakeField<&SimulateResult::remarks>("remarks", "", "further remarks"),
    MakeField<&SimulateResult::not_modelled>(
        "not_modelled", "", "effects that are not modelled or uncertain for this job"),
    MakeField<&SimulateResult::ranks>("ranks", "", "ranks of the job"),
    MakeField<&SimulateResult::rank_classes>("rank_classes", "",
                                             "ranks that were simulated: equal ones once"),
    MakeField<&SimulateResult::events>("events", "", "simulated tasks"),
    MakeField<&SimulateResult::job>("job", "", "title and settings"),
});

constexpr auto kJobResult = std::to_array<Field<JobResult>>({
    MakeField<&JobResult::name>("name", "", "name of the job"),
    MakeField<&JobResult::gpus>("gpus", "", "number of its GPUs"),
    MakeField<&JobResult::nodes>("nodes", "", "its nodes"),
    MakeField<&JobResult::steps>("steps", "", "steps that were simulated"),
    MakeField<&JobResult::steps_met>("steps_met", "", "steps that ran while every other job did"),
    MakeField<&JobResult::step_alone_s>("step_alone_s", "s", "step without the others"),
    MakeField<&JobResult::step_time_s>("step_time_s", "s", "step beside the others"),
    MakeField<&JobResult::lost_share>("lost_share", "", "share of the step lost to the others"),
    MakeField<&JobResult::left_out>("left_out", "",
                                    "parts of the job as written that the simulation leaves out"),
    MakeField<&JobResult::memory_peak_bytes>("memory_peak_bytes", "bytes",
                                             "peak tensor memory of the fullest stage"),
    MakeField<&JobResult::memory_needed_bytes>("memory_needed_bytes", "bytes",
                                               "peak with fragmentation"),
    MakeField<&JobResult::memory_usable_bytes>("memory_usable_bytes", "bytes",
                                               "memory of its GPU that a program can use"),
    MakeField<&JobResult::out_of_memory>(
        "out_of_memory", "", "needs more memory than there is; times assume GPUs with enough"),
    MakeField<&JobResult::nearly_out_of_memory>("nearly_out_of_memory", "",
                                                "needs more than 95 % of it, and may fail"),
});

constexpr auto kSimulateTogetherResult = std::to_array<Field<SimulateTogetherResult>>({
    MakeField<&SimulateTogetherResult::network>("network", "", "how transfers share the network"),
    MakeField<&SimulateTogetherResult::cluster>("cluster", "", "the cluster"),
    MakeField<&SimulateTogetherResult::jobs>("jobs", "", "the jobs"),
    MakeField<&SimulateTogetherResult::not_modelled>("not_modelled", "",
                                                     "effects that are not modelled or uncertain"),
});

}  // namespace

ORRERY_SET_FIELDS(StepEnergy, kStepEnergy)
ORRERY_SET_FIELDS(StepUtilisation, kStepUtilisation)
ORRERY_SET_FIELDS(StepVariation, kStepVariation)
ORRERY_SET_FIELDS(StepBubble, kStepBubble)
ORRERY_SET_FIELDS(StepCheckpoint, kStepCheckpoint)
ORRERY_SET_FIELDS(StepCommunication, kStepCommunication)
ORRERY_SET_FIELDS(StepSlowdown, kStepSlowdown)
ORRERY_SET_FIELDS(StepStage, kStepStage)
ORRERY_SET_FIELDS(StepChange, kStepChange)
ORRERY_SET_FIELDS(StepReplayedRank, kStepReplayedRank)
ORRERY_SET_FIELDS(SimulateResult, kSimulateResult)
ORRERY_SET_FIELDS(JobResult, kJobResult)
ORRERY_SET_FIELDS(SimulateTogetherResult, kSimulateTogetherResult)

}  // namespace orrery::api
