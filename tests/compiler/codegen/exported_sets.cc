// exported_sets FOLDER
//
// Exports every operator of ONNX at every set that is written, for readers other than ours. FOLDER
// gets LABEL@SET.onnx, `values` with the bytes of all tensors, and cases.json:
//   [{"label", "inputs": [T, ...], "outputs": [T, ...], "tolerance", "odd_in_ort",
//     "sets": {"7": "" or why it is refused, ...}}]
// where T = {"name", "type": number of ONNX, "dims", "at": offset in `values`, "bytes"}. The
// outputs are those of the reference kernels.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/ops/op.h"
#include "tests/compiler/codegen/set_cases.h"

namespace msc {
namespace {

class Writer {
 public:
  explicit Writer(std::string folder)
      : folder_(std::move(folder)), values_(folder_ + "/values", std::ios::binary) {}

  void Write(const SetCase& one) {
    nlohmann::json described = {
        {"label", one.label}, {"tolerance", one.tolerance}, {"odd_in_ort", one.odd_in_ort}};
    described["inputs"] = Described(one.graph, one.graph.inputs(), one.inputs);
    described["outputs"] =
        Described(one.graph, one.graph.outputs(), Interpret(one.graph, one.inputs));
    for (std::int64_t opset = kOldestWrittenOpset; opset <= kNewestOpset; ++opset) {
      described["sets"][std::to_string(opset)] = Export(one, opset);
    }
    cases_.push_back(std::move(described));
  }

  void End() {
    std::ofstream(folder_ + "/cases.json") << cases_.dump();
    values_.close();
    if (values_.fail()) throw SystemError("cannot write '" + folder_ + "'");
  }

 private:
  nlohmann::json Described(const Graph& graph, const std::vector<ValueId>& ids,
                           const std::vector<Tensor>& tensors) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto bytes = tensors[i].Raw();
      list.push_back({{"name", graph.value(ids[i]).name},
                      {"type", static_cast<int>(tensors[i].dtype())},
                      {"dims", tensors[i].dims()},
                      {"at", written_},
                      {"bytes", bytes.size()}});
      values_.write(reinterpret_cast<const char*>(bytes.data()),
                    static_cast<std::streamsize>(bytes.size()));
      written_ += bytes.size();
    }
    return list;
  }

  /// Returns why it is refused, or "".
  [[nodiscard]] std::string Export(const SetCase& one, std::int64_t opset) const {
    const std::string file = folder_ + "/" + one.label + "@" + std::to_string(opset) + ".onnx";
    try {
      const std::string bytes =
          ExportOnnxBytes(one.graph, {.opset = opset, .bf16 = Bf16Export::kKeep});
      std::ofstream(file, std::ios::binary) << bytes;
      return "";
    } catch (const UserError& error) {
      return error.what();
    }
  }

  std::string folder_;
  std::ofstream values_;
  std::size_t written_ = 0;
  nlohmann::json cases_ = nlohmann::json::array();
};

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) {
    std::fprintf(stderr, "usage: exported_sets FOLDER\n");
    return 2;
  }
  Writer writer(arguments[0]);
  for (const SetCase& one : AllSetCases()) writer.Write(one);
  writer.End();
  return 0;
}

}  // namespace
}  // namespace msc

int main(int argc, char** argv) {
  try {
    return msc::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exported_sets: %s\n", error.what());
    return 1;
  }
}
