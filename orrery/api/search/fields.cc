#include "orrery/api/fields.h"

#include <array>
#include <string_view>

#include "orrery/api/fields/job_fields.h"
#include "orrery/api/search.h"

namespace orrery::api {
namespace {

using Request = SearchRequest;
using OfJob = JobFields<&Request::changes>;

constexpr auto kObjectives =
    std::to_array<std::string_view>({"dollars", "energy", "step", "tokens_per_gpu"});
constexpr auto kTools =
    std::to_array<std::string_view>({"deepspeed", "megatron", "nemo", "torchtitan"});

// In the order of --help.
constexpr auto kRequestFields = std::to_array<Field<Request>>({
    MakeField<&Request::job>("job", "", "a job; its section `search` says what is free")
        .Placeholder("JOB"),
    MakeField<&Request::job_yaml>("job_yaml", "", "the text of a job, instead of a file"),
    OfJob::kSet,
    OfJob::kGpu,
    OfJob::kCluster,
    MakeField<&Request::gpus>(
        "gpus", "", "numbers of GPUs: 512, a list 64,96, or a range 64..1024, which doubles")
        .Placeholder("RANGE"),
    MakeField<&Request::objective>(
        "objective", "",
        "the objective: the shortest step, most tokens per GPU, fewest dollars or joules per token "
        "(default: step)")
        .Choices(kObjectives),
    MakeField<&Request::memory_reserve>(
        "memory_reserve", "%",
        "of a GPU's usable memory that plans leave free (default: 5, or what memory_share of the "
        "job leaves)")
        .Range(0, 99)
        .Placeholder("PERCENT"),
    MakeField<&Request::keep>("keep", "", "how many of the best plans to keep (20)")
        .Range(1, 10'000),
    MakeField<&Request::budget>("budget", "",
                                "stop after this time, 60s, and say what is not decided")
        .Placeholder("TIME"),
    MakeField<&Request::store>(
        "store", "", "keep decided plans in this file: nothing is lost when the search is ended")
        .Placeholder("FILE"),
    MakeField<&Request::resume>("resume", "", "go on with the search that is in the store"),
    MakeField<&Request::anyway>(
        "anyway", "",
        "remove plans of another program, of other models or of another job from the store"),
    MakeField<&Request::repair>(
        "repair", "", "go on with a damaged store: its sound records are kept, the others dropped"),
    MakeField<&Request::price>("price", "", "of a GPU hour: H100=2.5,A100-80GB=1.1")
        .Placeholder("DOLLARS"),
    MakeField<&Request::emit>(
        "emit", "", "write a plan as flags or file of a training tool (docs/formats/launch.md)")
        .Choices(kTools),
    MakeField<&Request::plan>("plan", "", "which of the kept plans to write (1)").Range(1, 10'000),
    MakeField<&Request::no_reasons>(
        "no_reasons", "", "do not simulate the neighbours of the best plan and better hardware"),
    MakeField<&Request::threads>("threads", "",
                                 "threads of each process (default: one for each core)")
        .Range(0, 1024),
    OfJob::kModels,
});

constexpr bool IsOfFront(const SearchPlan& plan) {
  return plan.memory_left_bytes.has_value();
}

constexpr auto kPlanFields = std::to_array<Field<SearchPlan>>({
    MakeField<&SearchPlan::plan>("plan", "", "Free keys and dp; those of no effect are left out"),
    MakeField<&SearchPlan::step_s>("step_s", "s", "Predicted time of a step"),
    MakeField<&SearchPlan::low_s>("low_s", "s", "Lower end of its 80 % interval"),
    MakeField<&SearchPlan::high_s>("high_s", "s", "Upper end of its 80 % interval"),
    MakeField<&SearchPlan::tokens_per_s>("tokens_per_s", "1/s", "Null for models without tokens"),
    MakeField<&SearchPlan::samples_per_s>("samples_per_s", "1/s", "Of all GPUs"),
    MakeField<&SearchPlan::memory_bytes>("memory_bytes", "bytes", "Peak memory of the fullest GPU"),
    MakeField<&SearchPlan::memory_usable_bytes>("memory_usable_bytes", "bytes",
                                                "Memory of a GPU that training can use"),
    MakeField<&SearchPlan::mfu>("mfu", "", "Model FLOPs over the peak of the GPUs"),
    MakeField<&SearchPlan::gpus>("gpus", "", "Number of GPUs"),
    MakeField<&SearchPlan::cluster>("cluster", "", "Name of the machine"),
    MakeField<&SearchPlan::joules>("joules", "J",
                                   "Energy of a step on all GPUs; 0 where power is not known"),
    MakeField<&SearchPlan::objective>("objective", "",
                                      "What plans are compared by; smaller is better"),
    MakeField<&SearchPlan::bound_s>("bound_s", "s", "Lower bound of the step time"),
    MakeField<&SearchPlan::settings>(
        "settings", "",
        "For simulate --set: those that the search was started with, then those of the plan"),
    MakeField<&SearchPlan::memory_left_bytes>(
        "memory_left_bytes", "bytes", "Of the usable memory on the fullest GPU; of the front only")
        .When(&IsOfFront),
    MakeField<&SearchPlan::dollars_per_token>(
        "dollars_per_token", "$", "Null without a price; of a model without tokens, of a sample")
        .When(&IsOfFront),
    MakeField<&SearchPlan::joules_per_token>(
        "joules_per_token", "J",
        "Null where power is not known; of a model without tokens, of a sample")
        .When(&IsOfFront),
});

constexpr auto kNeighbourFields = std::to_array<Field<SearchNeighbour>>({
    MakeField<&SearchNeighbour::key>("key", "", "The key that differs"),
    MakeField<&SearchNeighbour::from>("from", "", "Its value in the first plan"),
    MakeField<&SearchNeighbour::to>("to", "", "Its value in the neighbour"),
    MakeField<&SearchNeighbour::change>("change", "", "Relative change of the objective"),
    MakeField<&SearchNeighbour::fits>("fits", "", "The neighbour fits into memory"),
    MakeField<&SearchNeighbour::reason>("reason", "", "What makes the difference, a sentence"),
});

constexpr auto kSensitivityFields = std::to_array<Field<SearchSensitivity>>({
    MakeField<&SearchSensitivity::resource>("resource", "", "A part of the hardware"),
    MakeField<&SearchSensitivity::change>(
        "change", "", "Relative change of the first plan's step with 10 % more of it"),
});

bool HasPlans(const SearchResult& result) {
  return !result.best.empty();
}

bool IsEmitted(const SearchResult& result) {
  return result.emitted.has_value();
}

constexpr auto kResultFields = std::to_array<Field<SearchResult>>({
    MakeField<&SearchResult::considered>("considered", "", "Valid plans of the space"),
    MakeField<&SearchResult::pruned_by_memory>("pruned_by_memory", "",
                                               "Plans that do not fit into memory by their bound"),
    MakeField<&SearchResult::pruned_by_bound>("pruned_by_bound", "",
                                              "Plans that are slower by their bound"),
    MakeField<&SearchResult::simulated>("played", "", "Plans that were simulated"),
    MakeField<&SearchResult::too_large>(
        "too_large", "", "Simulated plans that need more memory than their bound, and do not fit"),
    MakeField<&SearchResult::failed>("failed", "", "Plans that could not be simulated"),
    MakeField<&SearchResult::refused>("refused", "", "Combinations that are no plans"),
    MakeField<&SearchResult::decided_share>(
        "settled_share", "", "Share of all plans that are decided; below 1 where the budget ended"),
    MakeField<&SearchResult::bounded_share>(
        "screened_share", "", "Share of the space that has bounds; nothing is known of the rest"),
    MakeField<&SearchResult::seconds>("seconds", "s",
                                      "Of the search; the only value that differs between runs"),
    MakeField<&SearchResult::best>("best", "", "Kept plans, best first"),
    MakeField<&SearchResult::out_of_memory>(
        "out_of_memory", "", "Where no plan fits: the least memory over all plans, a sentence")
        .IfKnown(),
    MakeField<&SearchResult::plans>("plans", "", "The same as rows of the table").When(&HasPlans),
    MakeField<&SearchResult::front>("front", "", "The Pareto front of the simulated plans that fit")
        .When(&HasPlans),
    MakeField<&SearchResult::neighbours>("neighbours", "", "Plans one step away from the first one")
        .When(&HasPlans),
    MakeField<&SearchResult::sensitivity>("sensitivity", "",
                                          "What binds the first plan, most helpful first")
        .When(&HasPlans),
    MakeField<&SearchResult::left_out>("left_out", "", "Of the job, a sentence each")
        .When(&HasPlans),
    MakeField<&SearchResult::not_modelled>("not_modelled", "", "Of the first plan, a sentence each")
        .When(&HasPlans),
    MakeField<&SearchResult::emitted>("emitted", "", "A plan as a training tool takes it")
        .When(&IsEmitted),
    MakeField<&SearchResult::not_expressed>("not_expressed", "",
                                            "Settings that the training tool has no key for")
        .When(&IsEmitted),
});

}  // namespace

ORRERY_SET_FIELDS(SearchRequest, kRequestFields)
ORRERY_SET_FIELDS(SearchPlan, kPlanFields)
ORRERY_SET_FIELDS(SearchNeighbour, kNeighbourFields)
ORRERY_SET_FIELDS(SearchSensitivity, kSensitivityFields)
ORRERY_SET_FIELDS(SearchResult, kResultFields)

}  // namespace orrery::api
