#include "compiler/targets/register.h"

#ifdef MSC_WITH_BLAS
#include "compiler/targets/blas/blas.h"
#endif
#include "compiler/targets/native/native.h"
#ifdef MSC_WITH_ONEDNN
#include "compiler/targets/onednn/onednn.h"
#endif
#ifdef MSC_WITH_ONNXRUNTIME
#include "compiler/targets/onnxruntime/onnxruntime.h"
#endif
#include "compiler/targets/reference/reference.h"
#ifdef MSC_WITH_XNNPACK
#include "compiler/targets/xnnpack/xnnpack.h"
#endif

namespace msc {

void RegisterAllTargets(TargetRegistry& registry) {
  registry.Add("reference", MakeReferenceTarget);
  registry.Add(NativeKind());
#ifdef MSC_WITH_BLAS
  registry.Add(BlasKind());
#else
  registry.AddAbsent("blas", "it was configured with MSC_WITH_BLAS=OFF");
#endif
#ifdef MSC_WITH_ONEDNN
  registry.Add("onednn", MakeOneDnnTarget);
#else
  registry.AddAbsent("onednn", "it was configured with MSC_WITH_ONEDNN=OFF");
#endif
#ifdef MSC_WITH_ONNXRUNTIME
  registry.Add(OnnxRuntimeKind());
#else
  registry.AddAbsent("onnxruntime", "it was configured without the headers of ONNX Runtime");
#endif
#ifdef MSC_WITH_XNNPACK
  registry.Add("xnnpack", MakeXnnpackTarget);
#else
  registry.AddAbsent("xnnpack", "it was configured without libxnnpack-dev and libpthreadpool-dev");
#endif
}

}  // namespace msc
