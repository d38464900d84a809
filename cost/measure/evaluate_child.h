#pragma once

#include <string>

#include "compiler/targets/target.h"
#include "cost/measure/child_protocol.h"

namespace msc::cost {

/// Main function of a child that measures, `mscgym measure-child REQUEST.json`. Reads the request,
/// answers it and writes one record to descriptor 3. Returns the exit status: 0 if a record was
/// written (also for a UserError), 77 if memory ran out, and 1 otherwise, with a line on stderr.
[[nodiscard]] int MeasureChildMain(const std::string& request_path, const TargetRegistry& targets);

/// Answers a request, without the process around it. UserError if the request makes no sense. The
/// modes:
/// - quality: one outcome without latency. Compares the candidate's outputs on the samples with the
///   stored ones. Doubles the number of samples, up to `most`, while IsOpen says that the limits
///   are undecided. If `fresh` is not 0, also judges the same outputs on the samples from that
///   number on separately. Fails with kWrongOutput if outputs are not finite, or if JudgeOutputs
///   and JudgeDecisions (judge.h) reject them. Writes the outputs to `outputs` if that is given.
/// - latency: one outcome with latency and empty quality for each strategy. Times all strategies
///   together against the uncompressed model with batch 1, in 1 / `part` of the rounds and of the
///   time, `repeats` times (see Combine). Before that, it judges the output of each strategy for
///   the first sample as above. Candidates that fail do not affect the others.
/// - fit: the candidate after FitStrategy, with its weights in `request.weights`.
/// - profile: median time of every step over `repeats` runs, for the uncompressed model and each
///   strategy.
[[nodiscard]] ChildAnswer AnswerRequest(ChildRequest request, const TargetRegistry& targets);

}  // namespace msc::cost
