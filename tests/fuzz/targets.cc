#include "tests/fuzz/targets.h"

namespace msc::fuzz {

std::vector<Target> AllTargets() {
  return {{"graph_files", FuzzGraphFiles},
          {"graph_text", FuzzGraphText},
          {"journal", FuzzJournal},
          {"onnx", FuzzOnnx},
          {"onnx_external", FuzzOnnxExternal},
          {"partition_rules", FuzzPartitionRules},
          {"samples", FuzzSamples},
          {"strategy", FuzzStrategy}};
}

}  // namespace msc::fuzz
