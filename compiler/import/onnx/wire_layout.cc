#include "compiler/import/onnx/wire_layout.h"

#include <array>

#include <onnx/onnx_pb.h>

namespace msc::detail {
namespace {

using enum WireKind;
using enum WireType;

constexpr std::array kFields = {
    WireField{kModel, 2, kText},
    WireField{kModel, 3, kText},
    WireField{kModel, 4, kText},
    WireField{kModel, 6, kText},
    WireField{kModel, 7, kMessage, kGraph},
    WireField{kModel, 8, kMessage, kOperatorSet},
    WireField{kModel, 14, kMessage, kPair},
    WireField{kModel, 20, kMessage, kTraining},
    WireField{kModel, 25, kMessage, kFunction},
    WireField{kGraph, 1, kMessage, kNode},
    WireField{kGraph, 2, kText},
    WireField{kGraph, 5, kMessage, kTensor},
    WireField{kGraph, 10, kText},
    WireField{kGraph, 11, kMessage, kValueInfo},
    WireField{kGraph, 12, kMessage, kValueInfo},
    WireField{kGraph, 13, kMessage, kValueInfo},
    WireField{kGraph, 14, kMessage, kAnnotation},
    WireField{kGraph, 15, kMessage, kSparseTensor},
    WireField{kNode, 1, kText},
    WireField{kNode, 2, kText},
    WireField{kNode, 3, kText},
    WireField{kNode, 4, kText},
    WireField{kNode, 5, kMessage, kAttribute},
    WireField{kNode, 6, kText},
    WireField{kNode, 7, kText},
    WireField{kAttribute, 1, kText},
    WireField{kAttribute, 4, kText},
    WireField{kAttribute, 5, kMessage, kTensor},
    WireField{kAttribute, 6, kMessage, kGraph},
    WireField{kAttribute, 7, kFixed},
    WireField{kAttribute, 8, kVarints64},
    WireField{kAttribute, 9, kText},
    WireField{kAttribute, 10, kMessage, kTensor},
    WireField{kAttribute, 11, kMessage, kGraph},
    WireField{kAttribute, 13, kText},
    WireField{kAttribute, 14, kMessage, kType},
    WireField{kAttribute, 15, kMessage, kType},
    WireField{kAttribute, 21, kText},
    WireField{kAttribute, 22, kMessage, kSparseTensor},
    WireField{kAttribute, 23, kMessage, kSparseTensor},
    WireField{kTensor, 1, kVarints64},
    WireField{kTensor, 3, kMessage, kSegment},
    WireField{kTensor, 4, kFixed},
    WireField{kTensor, 5, kVarints32},
    WireField{kTensor, 6, kText},
    WireField{kTensor, 7, kVarints64},
    WireField{kTensor, 8, kText},
    WireField{kTensor, 9, kRaw},
    WireField{kTensor, 10, kFixed},
    WireField{kTensor, 11, kVarints64},
    WireField{kTensor, 12, kText},
    WireField{kTensor, 13, kMessage, kPair},
    WireField{kSparseTensor, 1, kMessage, kTensor},
    WireField{kSparseTensor, 2, kMessage, kTensor},
    WireField{kSparseTensor, 3, kVarints64},
    WireField{kValueInfo, 1, kText},
    WireField{kValueInfo, 2, kMessage, kType},
    WireField{kValueInfo, 3, kText},
    WireField{kType, 1, kMessage, kTypeTensor},
    WireField{kType, 4, kMessage, kTypeElement},
    WireField{kType, 5, kMessage, kTypeMap},
    WireField{kType, 6, kText},
    WireField{kType, 8, kMessage, kTypeTensor},
    WireField{kType, 9, kMessage, kTypeElement},
    WireField{kTypeTensor, 2, kMessage, kShape},
    WireField{kTypeElement, 1, kMessage, kType},
    WireField{kTypeMap, 2, kMessage, kType},
    WireField{kShape, 1, kMessage, kDimension},
    WireField{kDimension, 2, kText},
    WireField{kDimension, 3, kText},
    WireField{kPair, 1, kText},
    WireField{kPair, 2, kText},
    WireField{kOperatorSet, 1, kText},
    WireField{kFunction, 1, kText},
    WireField{kFunction, 4, kText},
    WireField{kFunction, 5, kText},
    WireField{kFunction, 6, kText},
    WireField{kFunction, 7, kMessage, kNode},
    WireField{kFunction, 8, kText},
    WireField{kFunction, 9, kMessage, kOperatorSet},
    WireField{kFunction, 10, kText},
    WireField{kFunction, 11, kMessage, kAttribute},
    WireField{kTraining, 1, kMessage, kGraph},
    WireField{kTraining, 2, kMessage, kGraph},
    WireField{kTraining, 3, kMessage, kPair},
    WireField{kTraining, 4, kMessage, kPair},
    WireField{kAnnotation, 1, kText},
    WireField{kAnnotation, 2, kMessage, kPair},
};

}  // namespace

std::uint64_t WireObjectBytes(WireType type) {
  constexpr std::uint64_t kSlot = 16;
  switch (type) {
    case kModel:
      return sizeof(onnx::ModelProto) + kSlot;
    case kGraph:
      return sizeof(onnx::GraphProto) + kSlot;
    case kNode:
      return sizeof(onnx::NodeProto) + kSlot;
    case kAttribute:
      return sizeof(onnx::AttributeProto) + kSlot;
    case kTensor:
      return sizeof(onnx::TensorProto) + kSlot;
    case kSparseTensor:
      return sizeof(onnx::SparseTensorProto) + kSlot;
    case kFunction:
      return sizeof(onnx::FunctionProto) + kSlot;
    case kTraining:
      return sizeof(onnx::TrainingInfoProto) + kSlot;
    default:
      // The small messages: none is larger than a TypeProto with its nested tensor type.
      return sizeof(onnx::TypeProto) + sizeof(onnx::TypeProto::Tensor) + kSlot;
  }
}

const WireField* FindWireField(WireType in, std::uint64_t number) {
  for (const WireField& row : kFields) {
    if (row.in == in && row.number == number) return &row;
  }
  return nullptr;
}

}  // namespace msc::detail
