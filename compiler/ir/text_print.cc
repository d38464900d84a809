#include <algorithm>
#include <utility>
#include <variant>

#include "compiler/base/error.h"
#include "compiler/ir/element.h"
#include "compiler/ir/hex.h"
#include "compiler/ir/text.h"
#include "compiler/ir/text_lex.h"

namespace msc {
namespace {

/// Does the same as ToString(type), but quotes symbols that are not plain words.
std::string TypeText(ValueType type) {
  if (!type.shape) return ToString(type);
  for (Dim& dim : *type.shape) {
    if (!dim.symbol().empty()) dim = Dim::Symbol(detail::WordOrQuote(dim.symbol()));
  }
  return ToString(type);
}

std::string ElementText(const Tensor& tensor, std::size_t index) {
  if (tensor.dtype() == DType::kString) return detail::Quote(tensor.strings()[index]);
  if (detail::PartsOf(tensor.dtype()) == 1) return detail::PartText(tensor, index);
  return "(" + detail::PartText(tensor, 2 * index) + ", " +
         detail::PartText(tensor, 2 * index + 1) + ")";
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  void PrintGraph(const Graph& graph) {
    out_ += "graph " + detail::WordOrQuote(graph.name()) + " {\n";
    indent_ += 2;
    for (const auto& [key, value] : graph.metadata()) {
      Line("meta " + detail::Quote(key) + " = " + detail::Quote(value));
    }
    for (const ValueId id : graph.inputs()) Line("input " + Typed(graph, id));
    for (const ValueId id : graph.captured()) Line("captured " + Typed(graph, id));
    for (const ValueId id : graph.constants()) {
      StartLine();
      out_ += "const " + Typed(graph, id) + " = ";
      PrintValues(*graph.constant(id));
      out_ += '\n';
    }
    for (const NodeId id : graph.order()) PrintNode(graph, graph.node(id));
    if (!graph.outputs().empty()) Line("output " + Names(graph, graph.outputs()));
    indent_ -= 2;
    StartLine();
    out_ += '}';
  }

  [[nodiscard]] std::string Take() { return std::move(out_); }

  // Attributes, by type.
  void operator()(std::int64_t value) { out_ += std::to_string(value); }
  void operator()(float value) {
    std::string text = detail::FloatText(value);
    // A float without a point or exponent would read back as an integer.
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    out_ += text;
  }
  void operator()(const std::string& value) { out_ += detail::Quote(value); }
  void operator()(const TensorPtr& tensor) {
    Check(tensor != nullptr, "a printed graph is verified");
    out_ +=
        "tensor " + TypeText({.dtype = tensor->dtype(), .shape = ToShape(tensor->dims())}) + " = ";
    PrintValues(*tensor);
  }
  void operator()(const GraphPtr& graph) {
    Check(graph != nullptr, "a printed graph is verified");
    PrintGraph(*graph);
  }
  void operator()(const std::vector<std::int64_t>& list) { PrintList(list, "ints"); }
  void operator()(const std::vector<float>& list) { PrintList(list, "floats"); }
  void operator()(const std::vector<std::string>& list) { PrintList(list, "strings"); }
  void operator()(const std::vector<TensorPtr>& list) { PrintList(list, "tensors"); }
  void operator()(const std::vector<GraphPtr>& list) { PrintList(list, "graphs"); }

 private:
  void StartLine() { out_.append(indent_, ' '); }
  void Line(const std::string& text) {
    StartLine();
    out_ += text + '\n';
  }

  static std::string ValueName(const Graph& graph, ValueId id) {
    return id == kNoValue ? "_" : "%" + detail::NameOrQuote(graph.value(id).name);
  }
  static std::string Names(const Graph& graph, const std::vector<ValueId>& ids) {
    std::string text;
    for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + ValueName(graph, id);
    return text;
  }
  static std::string Typed(const Graph& graph, ValueId id) {
    return ValueName(graph, id) + " : " + TypeText(graph.type(id));
  }

  template <class T>
  void PrintList(const std::vector<T>& list, std::string_view kind) {
    if (list.empty()) out_ += kind;
    out_ += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out_ += ", ";
      (*this)(list[i]);
    }
    out_ += ']';
  }

  void PrintValues(const Tensor& tensor) {
    const auto size = static_cast<std::size_t>(tensor.size());
    if (size > options_.inline_elements) {
      if (options_.large == LargeConstants::kElide) {
        out_ += "...";
        return;
      }
      if (tensor.dtype() != DType::kString) {
        out_ += "hex \"" + detail::HexOf(tensor.Raw()) + '"';
        return;
      }
    }
    out_ += '[';
    for (std::size_t i = 0; i < size; ++i) {
      if (i != 0) out_ += ", ";
      out_ += ElementText(tensor, i);
    }
    out_ += ']';
  }

  static bool HasCaptures(const Node& node) {
    if (!node.captures.empty()) return true;
    return std::any_of(node.attrs.begin(), node.attrs.end(), [](const auto& named) {
      const auto captures = [](const GraphPtr& graph) { return !graph->captured().empty(); };
      if (const auto* one = std::get_if<GraphPtr>(&named.second)) return captures(*one);
      const auto* many = std::get_if<std::vector<GraphPtr>>(&named.second);
      return many != nullptr && std::any_of(many->begin(), many->end(), captures);
    });
  }

  void PrintNode(const Graph& graph, const Node& node) {
    StartLine();
    out_ += node.outputs.empty() ? "()" : Names(graph, node.outputs);
    out_ += " = ";
    if (!node.domain.empty()) out_ += DomainText(node.domain) + ".";
    out_ += detail::WordOrQuote(node.op) + "(" + Names(graph, node.inputs) + ") @" +
            detail::NameOrQuote(node.name);
    if (HasCaptures(node)) out_ += " captures(" + Names(graph, node.captures) + ")";
    if (!node.attrs.empty()) PrintAttrs(node.attrs);
    PrintOutputTypes(graph, node);
    out_ += '\n';
  }

  static std::string DomainText(const std::string& domain) {
    // Plain words joined by dots need no quotes: com.microsoft.
    for (std::size_t start = 0; start <= domain.size();) {
      const std::size_t stop = std::min(domain.find('.', start), domain.size());
      if (!detail::IsPlainWord(std::string_view(domain).substr(start, stop - start))) {
        return detail::Quote(domain);
      }
      start = stop + 1;
    }
    return domain;
  }

  void PrintAttrs(const AttrMap& attrs) {
    out_ += " {";
    bool first = true;
    for (const auto& [name, attr] : attrs) {
      out_ += (first ? "" : ", ") + detail::WordOrQuote(name) + " = ";
      first = false;
      std::visit(*this, attr);
    }
    out_ += '}';
  }

  void PrintOutputTypes(const Graph& graph, const Node& node) {
    const bool none = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id == kNoValue || graph.type(id) == ValueType{};
    });
    if (none) return;
    out_ += " : ";
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += node.outputs[i] == kNoValue ? "_" : TypeText(graph.type(node.outputs[i]));
    }
  }

  const PrintOptions& options_;
  std::string out_;
  std::size_t indent_ = 0;
};

}  // namespace

std::string Print(const Graph& graph, const PrintOptions& options) {
  Printer printer(options);
  printer.PrintGraph(graph);
  return printer.Take() + "\n";
}

}  // namespace msc
