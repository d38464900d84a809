// A child that measures regions by the estimator of Collage's tests instead of a clock (reference
// section 7.3): on target "mockB" a region of k nodes takes B * (1 + 0.9 + ... + 0.9^(k - 1))
// microseconds. Target "never" says that every region is invalid.
#include <cstdio>
#include <cstring>
#include <string>

#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "cost/measure/child.h"
#include "cost/measure/record.h"
#include "cost/model/outcome.h"
#include "cost/partition/region_protocol.h"
#include "cost/partition/source.h"

namespace msc::cost {
namespace {

Result<Outcome> Estimate(const RegionSource& source, const RegionGroup& group,
                         const std::string& target) {
  if (target == "never") return Failure{FailureKind::kUnsupported, "invalid"};
  double micros = 0;
  double each = std::stod(target.substr(std::strlen("mock")));
  for (std::size_t i = 0; i < source.Cut(group.nodes).order().size(); ++i, each *= 0.9) {
    micros += each;
  }
  Outcome outcome;
  outcome.latency = Latency{.median_ns = 1e3 * micros, .reference_median_ns = 1e3 * micros};
  return outcome;
}

int Answer(const char* path) {
  const RegionRequest request = RegionRequestFromJson(ReadFile(path), path);
  const SourceFiles& files = request.sources.at(0);  // no target asks for a precision
  const RegionSource source(LoadGraph(files.graph), {files.added.begin(), files.added.end()});
  std::string answers;
  for (std::size_t group = 0; group < request.groups.size(); ++group) {
    const RegionGroup& asked = request.groups[group];
    for (std::size_t runner = 0; runner < asked.runners.size(); ++runner) {
      answers +=
          ToJson(RegionAnswer{.group = group,
                              .runner = runner,
                              .outcome = Estimate(source, asked, asked.runners[runner].target)}) +
          "\n";
    }
  }
  WriteFileAtomic(request.answers, answers);
  WriteRecord(kRecordFd, "{}");
  return 0;
}

}  // namespace
}  // namespace msc::cost

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: mock_region_child REQUEST.json\n", stderr);
    return 2;
  }
  return msc::cost::Answer(argv[1]);
}
