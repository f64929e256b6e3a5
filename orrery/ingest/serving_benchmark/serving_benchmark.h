#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::serving_benchmark {

/// Results of serving benchmarks: SGLang's `bench_results.jsonl`, one object a line, and vLLM's
/// JSON. Gives one table with a row for each record: duration_s, completed, total_input_tokens,
/// total_output_tokens, request_throughput and output_throughput (per second), mean and median of
/// ttft_ms and tpot_ms. Where a record lists its requests, a second table has a row for each:
/// record, request, ttft_s, mean_itl_s and output_tokens.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::serving_benchmark
