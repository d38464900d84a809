// Stands in for ort_session.cc where the C headers of ONNX Runtime were not found.
#include "benchmarks/peers/ort_session.h"

#include "compiler/base/error.h"

namespace msc {
namespace {

[[noreturn]] void Reject() {
  throw UserError(OrtAbsence());
}

}  // namespace

struct OrtSession::State {};

std::string OrtAbsence() {
  return "ONNX Runtime is absent: its header onnxruntime_c_api.h was not there when this was built";
}

std::string OrtVersion() {
  Reject();
}

OrtSession::OrtSession(std::string_view /*model*/, int /*threads*/) {
  Reject();
}

OrtSession OrtSession::FromFile(const std::string& /*path*/, int /*threads*/) {
  Reject();
}

OrtSession::OrtSession(OrtSession&& other) noexcept = default;
OrtSession& OrtSession::operator=(OrtSession&& other) noexcept = default;
OrtSession::~OrtSession() = default;

const std::vector<std::string>& OrtSession::inputs() const {
  Reject();
}

const std::vector<std::string>& OrtSession::outputs() const {
  Reject();
}

std::vector<Tensor> OrtSession::Run(std::span<const Tensor> /*inputs*/) {
  Reject();
}

}  // namespace msc
