#include <bit>

#include "compiler/ir/graph.h"

namespace msc {
namespace {

bool SameBits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool SameTensor(const TensorPtr& a, const TensorPtr& b) {
  return a == b || (a && b && *a == *b);
}

bool SameNested(const GraphPtr& a, const GraphPtr& b) {
  return a == b || (a && b && SameGraph(*a, *b));
}

template <class T, class Same>
bool SameList(const std::vector<T>& a, const std::vector<T>& b, Same same) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

struct SameVisitor {
  const Attr& other;

  bool operator()(float value) const { return SameBits(value, std::get<float>(other)); }
  bool operator()(const std::vector<float>& value) const {
    return SameList(value, std::get<std::vector<float>>(other), SameBits);
  }
  bool operator()(const TensorPtr& value) const {
    return SameTensor(value, std::get<TensorPtr>(other));
  }
  bool operator()(const GraphPtr& value) const {
    return SameNested(value, std::get<GraphPtr>(other));
  }
  bool operator()(const std::vector<TensorPtr>& value) const {
    return SameList(value, std::get<std::vector<TensorPtr>>(other), SameTensor);
  }
  bool operator()(const std::vector<GraphPtr>& value) const {
    return SameList(value, std::get<std::vector<GraphPtr>>(other), SameNested);
  }
  template <class T>
  bool operator()(const T& value) const {
    return value == std::get<T>(other);
  }
};

bool SameAttrs(const AttrMap& a, const AttrMap& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, attr] : a) {
    const auto it = b.find(name);
    if (it == b.end() || !SameAttr(attr, it->second)) return false;
  }
  return true;
}

/// Compares lists of values by name, because ids may differ.
bool SameValues(const Graph& a, const std::vector<ValueId>& in_a, const Graph& b,
                const std::vector<ValueId>& in_b) {
  return in_a.size() == in_b.size() &&
         std::equal(in_a.begin(), in_a.end(), in_b.begin(), [&](ValueId x, ValueId y) {
           if (x == kNoValue || y == kNoValue) return x == y;
           return a.value(x).name == b.value(y).name && a.type(x) == b.type(y);
         });
}

}  // namespace

bool SameAttr(const Attr& a, const Attr& b) {
  return a.index() == b.index() && std::visit(SameVisitor{b}, a);
}

bool SameGraph(const Graph& a, const Graph& b) {
  if (a.name() != b.name() || a.metadata() != b.metadata() ||
      a.order().size() != b.order().size() || !SameValues(a, a.inputs(), b, b.inputs()) ||
      !SameValues(a, a.outputs(), b, b.outputs()) ||
      !SameValues(a, a.captured(), b, b.captured()) ||
      !SameValues(a, a.constants(), b, b.constants())) {
    return false;
  }
  const auto constants_a = a.constants();
  const auto constants_b = b.constants();
  for (std::size_t i = 0; i < constants_a.size(); ++i) {
    if (!SameTensor(a.constant(constants_a[i]), b.constant(constants_b[i]))) return false;
  }
  for (std::size_t i = 0; i < a.order().size(); ++i) {
    const Node& x = a.node(a.order()[i]);
    const Node& y = b.node(b.order()[i]);
    if (x.name != y.name || x.op != y.op || x.domain != y.domain ||
        !SameValues(a, x.inputs, b, y.inputs) || !SameValues(a, x.outputs, b, y.outputs) ||
        !SameValues(a, x.captures, b, y.captures) || !SameAttrs(x.attrs, y.attrs)) {
      return false;
    }
  }
  return true;
}

}  // namespace msc
