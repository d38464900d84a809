// Replaces xsmm.cc in builds without libxsmm.
#include "compiler/base/error.h"
#include "compiler/targets/blas/xsmm.h"

namespace msc::blas {

const Library& LoadXsmm() {
  throw UserError("libxsmm was not there when this was built (Debian package libxsmm-dev)");
}

}  // namespace msc::blas
