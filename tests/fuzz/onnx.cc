#include "compiler/base/error.h"
#include "compiler/import/onnx/import.h"
#include "tests/fuzz/targets.h"

namespace msc::fuzz {

void FuzzOnnx(std::string_view bytes) {
  try {
    (void)ImportOnnxBytes(bytes);
  } catch (const UserError&) {
  }
}

}  // namespace msc::fuzz
