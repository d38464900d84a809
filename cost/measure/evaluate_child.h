#pragma once

#include <string>

#include "compiler/targets/target.h"
#include "cost/measure/child_protocol.h"

namespace msc::cost {

/// The measuring child: what `mscgym measure-child REQUEST.json` is. Reads the request, does what
/// it asks, writes one record to descriptor 3. Returns the exit status: 0 where a record was
/// written (a UserError is one), 77 out of memory, 1 anything else, with a line on stderr.
[[nodiscard]] int MeasureChildMain(const std::string& request_path, const TargetRegistry& targets);

/// What the child does, without the process around it.
///
/// quality: one outcome without latency. The candidate's outputs over the samples are compared with
/// the stored ones, and over twice as many and so on up to `most` while IsOpen by the settings, and
/// those from number `fresh` on, if it is not 0, once more by themselves, by the same outputs; it
/// fails with kWrongOutput where they are not finite, or constant while the reference's vary, or,
/// where nothing is pruned, further from the reference than its widest precision allows (settings),
/// and what decisions at the end of the graph are taken by is so, too (judge.h).
/// latency: an outcome with latency for each strategy, whose quality is empty; all are timed
/// together against the uncompressed model, batch 1, in 1 / `part` of the rounds and of the time,
/// and the whole `repeats` times (see Combine). Before that each must answer the first sample as
/// above. A candidate that fails leaves the rest comparable. fit: the candidate as FitStrategy
/// leaves it, its weights in `request.weights`. profile: median time of every step over `repeats`
/// runs, of the uncompressed model and of each.
[[nodiscard]] ChildAnswer AnswerRequest(ChildRequest request, const TargetRegistry& targets);

}  // namespace msc::cost
