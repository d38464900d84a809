#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"

namespace msc {

/// A model from libonnx's text form, without its header:
///   "(float[N,3] x) => (float[N,3] y) { y = Relu(x) }"
inline onnx::ModelProto ModelFromText(const std::string& graph, std::int64_t opset) {
  const std::string text =
      "<ir_version: 7, opset_import: [\"\" : " + std::to_string(opset) + "]>\nmain " + graph;
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  if (!status.IsOK()) throw UserError("test model: " + status.ErrorMessage() + text);
  return model;
}

inline std::string BytesOf(const onnx::ModelProto& model) {
  return model.SerializeAsString();
}

inline std::string ModelBytes(const std::string& graph, std::int64_t opset = 17) {
  return BytesOf(ModelFromText(graph, opset));
}

}  // namespace msc
