#include "compiler/partition/search/baselines.h"

namespace msc::detail {

bool HasIlp() {
  return false;
}

Result<Cover> IlpSearch(const CoverProblem& /*problem*/, const SearchOptions& /*options*/) {
  return Failure{FailureKind::kUnsupported, "this build has no integer program solver"};
}

}  // namespace msc::detail
