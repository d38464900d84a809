#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace msc::fuzz {

/// A model that is wrong, or strange, in one to three places.
struct ModelMutant {
  std::string bytes;                 ///< an ONNX file
  std::vector<std::string> changes;  ///< kinds of what was changed, of ModelChanges()
};

/// Makes mutants of one ONNX model: what a careless or broken exporter might have written. Ranks,
/// sizes, element types, attributes, operators, wiring and versions change; the file itself is
/// always well-formed protobuf.
class ModelMutants {
 public:
  /// `bytes` is the content of a model file. UserError if it is none.
  explicit ModelMutants(std::string_view bytes);
  ModelMutants(ModelMutants&&) noexcept;
  ModelMutants& operator=(ModelMutants&&) noexcept;
  ~ModelMutants();

  /// The same seed gives the same mutant.
  [[nodiscard]] ModelMutant Make(std::uint64_t seed) const;

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

/// Kinds of changes that mutants are made by.
[[nodiscard]] std::vector<std::string> ModelChanges();

}  // namespace msc::fuzz
