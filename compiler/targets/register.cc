#include "compiler/targets/register.h"

#ifdef MSC_WITH_ONEDNN
#include "compiler/targets/onednn/onednn.h"
#endif
#include "compiler/targets/reference/reference.h"

namespace msc {

void RegisterAllTargets(TargetRegistry& registry) {
  registry.Add(MakeReferenceTarget());
#ifdef MSC_WITH_ONEDNN
  registry.Add(MakeOneDnnTarget());
#else
  registry.AddAbsent("onednn", "it was configured with MSC_WITH_ONEDNN=OFF");
#endif
}

}  // namespace msc
