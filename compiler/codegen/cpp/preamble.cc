#include "compiler/codegen/cpp/preamble.h"

#include <string_view>

#include "compiler/base/error.h"
#include "compiler/codegen/cpp/math_text.h"
#include "compiler/kernel/integer.h"

namespace msc {

using kernel::Op;
using kernel::Type;

namespace {

constexpr std::string_view kStart =
    "#define INLINE static inline __attribute__((always_inline))\n"
    "#define UNALIGNED aligned(1), may_alias\n"
    "typedef float f32;\n"
    "typedef unsigned short bf16;\n"
    "typedef unsigned short f16;\n"
    "typedef signed char i8;\n"
    "typedef unsigned char u8;\n"
    "typedef short i16;\n"
    "typedef unsigned short u16;\n"
    "typedef int i32;\n"
    "typedef unsigned int u32;\n"
    "typedef long i64;\n"
    "typedef unsigned long u64;\n"
    "static_assert(sizeof(i64) == 8, \"64-bit long\");\n";

std::string Text(std::int64_t value) {
  return std::to_string(value);
}

/// Returns "a, b, c" from the results of `item` for 0 .. count-1.
template <class Item>
std::string List(int count, const Item& item) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + item(i);
  return text;
}

int Bytes(Type type) {
  return static_cast<int>(ByteSize(type.dtype)) * type.lanes;
}

DType InMemory(DType dtype) {
  return dtype == DType::kBool ? DType::kU8 : dtype;
}

/// Returns the part of the names of GCC and clang for masked moves of elements of this size.
std::string_view MaskedMove(int element_bytes, bool load) {
  switch (element_bytes) {
    case 1:
      return load ? "loaddquqi" : "storedquqi";
    case 2:
      return load ? "loaddquhi" : "storedquhi";
    case 4:
      return load ? "loaddqusi" : "storedqusi";
    default:
      return load ? "loaddqudi" : "storedqudi";
  }
}

std::string MaskLiteral(int valid) {
  // A shift by the whole width of the type would be undefined.
  const std::uint64_t mask =
      valid >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << unsigned(valid)) - 1;
  return std::to_string(mask) + "UL";
}

/// Returns the integer type that the builtins of masked moves take.
std::string MoveElement(int bytes) {
  // clang and GCC require plain `char`, which is distinct from signed and unsigned char.
  if (bytes == 1) return "char";
  if (bytes == 2) return "short";
  if (bytes == 4) return "int";
  return "long long";
}

}  // namespace

Preamble::Preamble(const Isa& isa) : isa_(isa), text_(kStart) {}

std::string Preamble::TypeName(Type type) {
  if (type.lanes == 1) return std::string(Name(type.dtype));
  Check(type.dtype != DType::kBool, "vectors of bool have the type of a mask");
  const std::string scalar(Name(type.dtype));
  const std::string name = scalar + "x" + Text(type.lanes);
  if (First(name)) {
    Add("typedef " + scalar + " " + name + " __attribute__((vector_size(" + Text(Bytes(type)) +
        ")));\n");
  }
  return name;
}

std::string Preamble::MemoryTypeName(Type type) {
  type.dtype = InMemory(type.dtype);
  const std::string name = TypeName(type) + "_m";
  if (First(name)) {
    const std::string scalar(Name(type.dtype));
    const std::string size = type.lanes == 1 ? "" : "vector_size(" + Text(Bytes(type)) + "), ";
    Add("typedef " + scalar + " " + name + " __attribute__((" + size + "UNALIGNED));\n");
  }
  return name;
}

std::string Preamble::MaskName(int bytes, int lanes) {
  const DType dtype = bytes == 1   ? DType::kI8
                      : bytes == 2 ? DType::kI16
                      : bytes == 4 ? DType::kI32
                                   : DType::kI64;
  return TypeName({dtype, lanes});
}

std::string Preamble::Splat(Type type) {
  const std::string vector = TypeName(type);
  const std::string name = "splat_" + vector;
  if (First(name)) {
    Add("INLINE " + vector + " " + name + "(" + std::string(Name(type.dtype)) +
        " x) {\n  return (" + vector + "){" +
        List(type.lanes, [](int) { return std::string("x"); }) + "};\n}\n");
  }
  return name;
}

std::string Preamble::GroupBroadcast(Type type, int group, int lane) {
  const std::string vector = TypeName(type);
  const std::string name = "lane_" + Text(lane) + "_of_" + Text(group) + "_" + vector;
  if (First(name)) {
    Add("INLINE " + vector + " " + name + "(" + vector +
        " x) {\n  return __builtin_shufflevector(x, x, " +
        List(type.lanes, [&](int l) { return Text(l - l % group + lane); }) + ");\n}\n");
  }
  return name;
}

std::string Preamble::PartialLoad(Type type, int valid) {
  const std::string vector = TypeName(type);
  const std::string name = "load_" + vector + "_" + Text(valid);
  if (!First(name)) return name;
  const int size = static_cast<int>(ByteSize(type.dtype));
  Add("INLINE " + vector + " " + name + "(const void* p) {\n");
  // A masked load does not touch the memory of the lanes that are off, which may not exist.
  if (isa_.avx512 && IsRegister(Bytes(type))) {
    const std::string move = "move" + Text(size) + "x" + Text(type.lanes);
    Add("  typedef " + MoveElement(size) + " " + move + " __attribute__((vector_size(" +
        Text(Bytes(type)) + ")));\n#ifdef __clang__\n  typedef " + move +
        " from;\n#else\n  typedef " + (size == 8 ? "long long" : MoveElement(size)) +
        " from;\n#endif\n  return (" + vector + ")__builtin_ia32_" +
        std::string(MaskedMove(size, true)) + Text(Bytes(type) * 8) + "_mask((const from*)p, (" +
        move + "){}, " + MaskLiteral(valid) + ");\n}\n");
  } else {
    Add("  " + vector + " r = {};\n  __builtin_memcpy(&r, p, " + Text(valid * size) +
        ");\n  return r;\n}\n");
  }
  return name;
}

std::string Preamble::PartialStore(Type type, int valid) {
  type.dtype = InMemory(type.dtype);
  const std::string vector = TypeName(type);
  const std::string name = "store_" + vector + "_" + Text(valid);
  if (!First(name)) return name;
  const int size = static_cast<int>(ByteSize(type.dtype));
  Add("INLINE void " + name + "(void* p, " + vector + " x) {\n");
  // A masked store leaves the memory of the lanes that are off as it is.
  if (isa_.avx512 && IsRegister(Bytes(type))) {
    const std::string move = "move" + Text(size) + "x" + Text(type.lanes);
    Add("  typedef " + MoveElement(size) + " " + move + " __attribute__((vector_size(" +
        Text(Bytes(type)) + ")));\n#ifdef __clang__\n  typedef " + move +
        " to;\n#else\n  typedef " + MoveElement(size) + " to;\n#endif\n  __builtin_ia32_" +
        std::string(MaskedMove(size, false)) + Text(Bytes(type) * 8) + "_mask((to*)p, (" + move +
        ")x, " + MaskLiteral(valid) + ");\n}\n");
  } else {
    Add("  __builtin_memcpy(p, &x, " + Text(valid * size) + ");\n}\n");
  }
  return name;
}

std::string Preamble::MinMax(Op op, Type type) {
  const bool is_min = op == Op::kMin;
  const std::string name = is_min ? "msc_min" : "msc_max";
  if (First("msc_min")) {
    // As minps and maxps: returns the second operand if one is NaN.
    Add("template <class T> INLINE T msc_min(T a, T b) { return a < b ? a : b; }\n"
        "template <class T> INLINE T msc_max(T a, T b) { return a > b ? a : b; }\n");
  }
  const int bytes = Bytes(type);
  if (type.dtype != DType::kF32 || type.lanes == 1 || !IsRegister(bytes)) return name;
  const std::string vector = TypeName(type);
  if (!First(name + vector)) return name;
  // With 512 bits, the mask 65535 takes all 16 lanes, and 4 is _MM_FROUND_CUR_DIRECTION.
  const std::string builtin = std::string("__builtin_ia32_") + (is_min ? "min" : "max") + "ps" +
                              (bytes == 16 ? "" : Text(bytes * 8));
  Add("INLINE " + vector + " " + name + "(" + vector + " a, " + vector + " b) {\n");
  if (bytes == 64) {
    Add("#ifdef __clang__\n  return " + builtin + "(a, b, 4);\n#else\n  return " + builtin +
        "_mask(a, b, a, 65535, 4);\n#endif\n}\n");
  } else {
    Add("  return " + builtin + "(a, b);\n}\n");
  }
  return name;
}

std::string Preamble::FloorDivMod(Op op) {
  const std::string name = op == Op::kDiv ? "floor_div" : "floor_mod";
  if (First(name)) {
    // C++ division rounds toward zero: with a positive divisor, the quotient is one too high
    // exactly if the remainder is negative.
    Add(op == Op::kDiv ? "template <class T> INLINE T floor_div(T a, T b) { return a / b - (a % b "
                         "< 0 ? T{} + 1 : T{}); }\n"
                       : "template <class T> INLINE T floor_mod(T a, T b) { return a % b + (a % b "
                         "< 0 ? b : T{}); }\n");
  }
  return name;
}

std::string Preamble::Bits() {
  if (First("tools")) Add(std::string(MathToolsText()));
  return "bits";
}

std::string Preamble::Math(Op op, int lanes) {
  const Type type{DType::kF32, lanes};
  // Square roots are rounded correctly in every width.
  if (op == Op::kSqrt) {
    const std::string vector = TypeName(type);
    const std::string name = "sqrt_" + vector;
    if (!First(name)) return name;
    const int bytes = Bytes(type);
    Add("INLINE " + vector + " " + name + "(" + vector + " x) {\n");
    if (lanes == 1) {
      Add("  return __builtin_sqrtf(x);\n}\n");
    } else if (IsRegister(bytes) && bytes < 64) {
      Add("  return __builtin_ia32_sqrtps" + std::string(bytes == 16 ? "" : "256") + "(x);\n}\n");
    } else if (IsRegister(bytes)) {
      Add("#ifdef __clang__\n  return __builtin_ia32_sqrtps512(x, 4);\n#else\n"
          "  return __builtin_ia32_sqrtps512_mask(x, x, 65535, 4);\n#endif\n}\n");
    } else {
      Add("  for (i32 i = 0; i < " + Text(lanes) +
          "; ++i) x[i] = __builtin_sqrtf(x[i]);\n"
          "  return x;\n}\n");
    }
    return name;
  }
  Bits();
  MinMax(Op::kMin, type);
  // The text of tanh and erf calls msc_exp.
  const bool calls_exp = op == Op::kTanh || op == Op::kErf;
  if (calls_exp && First("exp")) Add(std::string(MathText(Op::kExp)));
  if (op == Op::kSigmoid && First("reciprocal")) {
    Add("template <class F> INLINE F reciprocal(F x) { return 1.0f / x; }\n");
    if (isa_.avx512) {
      // rcp14ps has 14 correct bits; one Newton step doubles them.
      const std::string vector = TypeName({DType::kF32, 16});
      Add("INLINE " + vector + " reciprocal(" + vector + " x) {\n  " + vector +
          " r = __builtin_ia32_rcp14ps512_mask(x, x, (unsigned short)65535);\n"
          "  return r + r * (1.0f - x * r);\n}\n");
    }
  }
  const std::string_view names[] = {"exp", "tanh", "erf", "log", "floor", "sigmoid"};
  const std::size_t which = op == Op::kExp     ? 0
                            : op == Op::kTanh  ? 1
                            : op == Op::kErf   ? 2
                            : op == Op::kLog   ? 3
                            : op == Op::kFloor ? 4
                                               : 5;
  const std::string name(names[which]);
  if (First(name)) Add(std::string(MathText(op)));
  return "msc_" + name + "<" + TypeName(type) + ", " + TypeName({DType::kI32, lanes}) + ">";
}

std::string Preamble::Nearest(int lanes) {
  Bits();
  const Type real{DType::kF32, lanes};
  const std::string from = TypeName(real);
  const std::string i32 = TypeName({DType::kI32, lanes});
  const std::string name = "nearest_" + from;
  if (!First(name)) return name;
  const int bytes = Bytes(real);
  Add("INLINE " + i32 + " " + name + "(" + from + " x) {\n");
  if (lanes > 1 && IsRegister(bytes)) {
    // cvtps2dq rounds in the mode of the CPU, half to even unless a program changes it; with 512
    // bits the 4 asks for that mode.
    const std::string builtin = "__builtin_ia32_cvtps2dq" + (bytes == 16 ? "" : Text(bytes * 8));
    Add("  return (" + i32 + ")" +
        (bytes == 64 ? builtin + "_mask(x, (" + i32 + "){}, (unsigned short)65535, 4)"
                     : builtin + "(x)") +
        ";\n}\n");
  } else {
    Add("  return convert<" + i32 + ">(nearest(x));\n}\n");
  }
  return name;
}

std::string Preamble::Convert(Type from, Type to) {
  const std::string x = TypeName(from);
  const std::string y = TypeName(to);
  const bool widen = ByteSize(to.dtype) > ByteSize(from.dtype);
  const bool is_unsigned = from.dtype == DType::kU8 || from.dtype == DType::kU32;
  const std::string half = TypeName({is_unsigned ? DType::kU16 : DType::kI16, from.lanes});
  const std::string name = "convert_" + x + "_" + y;
  if (!First(name)) return name;
  const int bytes = 4 * from.lanes;
  Add("INLINE " + y + " " + name + "(" + x + " x) {\n");
  const bool builtin =
      IsRegister(bytes) && ((isa_.avx512 && bytes == 64) || (isa_.avx2 && bytes == 32 && widen));
  if (builtin) {
    // pmovzxbd and pmovsxbd widen with zeros or the sign; pmovdb keeps the low byte.
    const std::string extend =
        std::string("__builtin_ia32_pmov") + (is_unsigned ? "zx" : "sx") + "bd";
    Add("#ifdef __clang__\n  return __builtin_convertvector(x, " + y +
        ");\n#else\n  typedef char bytes __attribute__((vector_size(16)));\n  typedef i32 words "
        "__attribute__((vector_size(" +
        Text(bytes) + ")));\n");
    if (bytes == 32) {
      // The instruction widens the lower 8 of 16 bytes; the shuffle fills all 16.
      const std::string lanes = List(8, [](int i) { return Text(i); });
      Add("  return (" + y + ")" + extend + "256((bytes)__builtin_shufflevector(x, x, " + lanes +
          ", " + lanes + "));\n");
    } else if (widen) {
      Add("  return (" + y + ")" + extend +
          "512_mask((bytes)x, (words){}, (unsigned short)65535);\n");
    } else {
      Add("  return (" + y +
          ")__builtin_ia32_pmovdb512_mask((words)x, (bytes){}, (unsigned short)65535);\n");
    }
    Add("#endif\n}\n");
    return name;
  }
  Add("  return __builtin_convertvector(__builtin_convertvector(x, " + half + "), " + y +
      ");\n}\n");
  return name;
}

std::string Preamble::RoundTo(Type type) {
  Bits();
  const std::string to = TypeName(type);
  const std::string name = "round_" + to;
  const Type real{DType::kF32, type.lanes};
  const Type whole{DType::kI32, type.lanes};
  const std::string from = TypeName(real);
  const std::string i32 = TypeName(whole);
  if (made_.count(name) != 0) return name;
  const std::string nearest = Nearest(type.lanes);
  const kernel::IntegerRange range = kernel::RangeOf(type.dtype);
  const int size = static_cast<int>(ByteSize(type.dtype));
  // The bounds of 8 and 16 bits are exact in f32, so clamping comes first and the rounded value
  // fits. NaN becomes the lower bound, the second operand of msc_max.
  if (size < 4) {
    MinMax(Op::kMin, real);
    MinMax(Op::kMax, real);
    const std::string narrow =
        size == 1 && type.lanes > 1 ? Convert(whole, type) : "convert<" + to + ">";
    First(name);
    Add("INLINE " + to + " " + name + "(" + from + " x) {\n  x = msc_min(msc_max(x, constant<" +
        from + ">(" + Text(range.least) + ".0f)), constant<" + from + ">(" + Text(range.most) +
        ".0f));\n  return " + narrow + "(" + nearest + "(x));\n}\n");
    return name;
  }
  if (type.dtype == DType::kI32) {
    First(name);
    // Out of range, cvtps2dq returns the lowest i32. Above the range, replace it by the highest;
    // the last comparison covers NaN and code without that instruction.
    Add("INLINE " + to + " " + name + "(" + from + " x) {\n  " + to + " r = " + nearest +
        "(x);\n  r = x >= constant<" + from + ">(2147483648.0f) ? " + to +
        "{} + 2147483647 : r;\n  return x >= constant<" + from + ">(-2147483648.0f) ? r : " + to +
        "{} + (-2147483647 - 1);\n}\n");
    return name;
  }
  First(name);
  const std::string one(Name(type.dtype));
  // The highest values are no floats, so the comparison is with the power of two above them. The
  // last floats below it are in range, and conversion truncates nothing after `nearest`. NaN fails
  // both comparisons and becomes the lowest value.
  const std::string high = type.dtype == DType::kU32   ? "4294967296.0f"
                           : type.dtype == DType::kI64 ? "9223372036854775808.0f"
                                                       : "18446744073709551616.0f";
  const std::string most = type.dtype == DType::kU32   ? "4294967295U"
                           : type.dtype == DType::kI64 ? "9223372036854775807L"
                                                       : "18446744073709551615UL";
  const std::string low = type.dtype == DType::kI64 ? "-9223372036854775808.0f" : "0.0f";
  const std::string least = type.dtype == DType::kI64 ? "(-9223372036854775807L - 1)" : "0";
  const std::string element = "element_" + name;
  Add("INLINE " + one + " " + element + "(f32 x) {\n  x = nearest(x);\n  return x >= " + high +
      " ? " + most + " : x >= " + low + " ? (" + one + ")x : " + least + ";\n}\n");
  Add("INLINE " + to + " " + name + "(" + from + " x) {\n");
  if (type.lanes == 1) {
    Add("  return " + element + "(x);\n}\n");
  } else {
    Add("  " + to + " r;\n  for (i32 i = 0; i < " + Text(type.lanes) + "; ++i) r[i] = " + element +
        "(x[i]);\n  return r;\n}\n");
  }
  return name;
}

std::string Preamble::NarrowSum(int lanes) {
  // pmaddubsw adds pairs of products in i16, pmaddwd pairs of those in i32.
  const int bytes = 4 * lanes;
  const std::string i16 = TypeName({DType::kI16, 2 * lanes});
  const std::string i32 = TypeName({DType::kI32, lanes});
  const std::string chars = "chars_" + Text(bytes);
  if (First(chars)) {
    Add("typedef char " + chars + " __attribute__((vector_size(" + Text(bytes) + ")));\n");
  }
  const std::string args = "((" + chars + ")a, (" + chars + ")b";
  const std::string pairs = "(" + i16 + ")__builtin_ia32_pmaddubsw" + Text(8 * bytes);
  const std::string sums = "__builtin_ia32_pmaddwd" + Text(8 * bytes);
  const std::string one = Splat({DType::kI16, 2 * lanes}) + "(1)";
  const std::string plain =
      "  return s + (" + i32 + ")" + sums + "(" + pairs + args + "), " + one + ");\n";
  if (bytes < 64) return plain + "}\n";
  return "#ifdef __clang__\n" + plain + "#else\n  return s + (" + i32 + ")" + sums + "_mask(" +
         pairs + "_mask" + args + ", (" + i16 + "){}, 4294967295u), " + one + ", (" + i32 +
         "){}, (unsigned short)65535);\n#endif\n}\n";
}

std::string Preamble::Dot(Op op, int lanes) {
  Bits();
  const bool narrow = op == Op::kDot4Narrow && !isa_.vnni && isa_.avx2;
  const bool four = op != Op::kDot2;
  const std::string sum = TypeName({four ? DType::kI32 : DType::kF32, lanes});
  const std::string a =
      TypeName(four ? Type{DType::kU8, 4 * lanes} : Type{DType::kBF16, 2 * lanes});
  const std::string b =
      TypeName(four ? Type{DType::kI8, 4 * lanes} : Type{DType::kBF16, 2 * lanes});
  const std::string i32 = TypeName({DType::kI32, lanes});
  const std::string u32 = TypeName({DType::kU32, lanes});
  const std::string name = (narrow ? "dot4n_" : four ? "dot4_" : "dot2_") + sum;
  if (!First(name)) return name;
  const int bytes = 4 * lanes;
  const std::string bits = Text(bytes * 8);
  const std::string head =
      "INLINE " + sum + " " + name + "(" + sum + " s, " + a + " a, " + b + " b) {\n";
  // VNNI sums four products in one instruction, modulo 2^32.
  if (four && isa_.vnni && lanes > 1 && IsRegister(bytes)) {
    Add(head + "#ifdef __clang__\n  return __builtin_ia32_vpdpbusd" + bits + "(s, (" + i32 +
        ")a, (" + i32 + ")b);\n#else\n  return __builtin_ia32_vpdpbusd_v" + Text(lanes) +
        "si(s, (" + i32 + ")a, (" + i32 + ")b);\n#endif\n}\n");
    return name;
  }
  if (narrow && lanes > 1 && IsRegister(bytes)) {
    Add(head + NarrowSum(lanes));
    return name;
  }
  if (four && lanes > 1 && IsRegister(bytes)) {
    // pmaddwd multiplies the values as i16 and adds two products in i32, so nothing overflows.
    // pmaddubsw would take bytes directly, but it saturates sums of two products at 32767, and they
    // reach 2 * 255 * 127. a0 and b0 are the even bytes, a1 and b1 the odd ones.
    const std::string i16 = TypeName({DType::kI16, 2 * lanes});
    const std::string u16 = TypeName({DType::kU16, 2 * lanes});
    const auto madd = [&](const std::string& x, const std::string& y) {
      const std::string call = "__builtin_ia32_pmaddwd";
      if (bytes == 64) {
        return "\n#ifdef __clang__\n  " + call + "512(" + x + ", " + y + ")\n#else\n  " + call +
               "512_mask(" + x + ", " + y + ", (" + i32 + "){}, (unsigned short)65535)\n#endif\n  ";
      }
      return call + bits + "(" + x + ", " + y + ")";
    };
    Add(head + "  " + i16 + " a0 = (" + i16 + ")a & (i16)255, a1 = (" + i16 + ")((" + u16 +
        ")a >> (u16)8);\n  " + i16 + " b0 = (" + i16 + ")((" + i16 +
        ")b << (i16)8) >> (i16)8, b1 = (" + i16 + ")b >> (i16)8;\n  " + i32 +
        " even = " + madd("a0", "b0") + ";\n  " + i32 + " odd = " + madd("a1", "b1") +
        ";\n  return s + even + odd;\n}\n");
    return name;
  }
  if (four) {
    const std::string element = lanes == 1 ? "s" : "s[i]";
    Add(head + "  for (i32 i = 0; i < " + Text(lanes) +
        "; ++i)\n    for (i32 j = 4 * i; j < 4 * i + 4; ++j) " + element +
        " += (i32)a[j] * (i32)b[j];\n  return s;\n}\n");
    return name;
  }
  if (isa_.bf16 && lanes > 1 && IsRegister(bytes)) {
    const std::string i16 = TypeName({DType::kI16, 2 * lanes});
    Add(head + "#ifdef __clang__\n  return __builtin_ia32_dpbf16ps_" + bits + "(s, (" + i32 +
        ")a, (" + i32 + ")b);\n#else\n  return __builtin_ia32_dpbf16ps_v" + Text(lanes) +
        "sf(s, (" + i16 + ")a, (" + i16 + ")b);\n#endif\n}\n");
    return name;
  }
  // A bf16 is the upper half of an f32: a mask leaves the odd entry of each pair, a shift the even
  // one. A product of two has at most 16 significant bits, which f32 holds exactly; only the
  // additions round.
  const auto high = [&](const std::string& x) {
    return "bits<" + sum + ">(bits<" + u32 + ">(" + x + ") & 0xffff0000u)";
  };
  const auto low = [&](const std::string& x) {
    return "bits<" + sum + ">(bits<" + u32 + ">(" + x + ") << 16)";
  };
  Add(head + "  s = s + " + high("a") + " * " + high("b") + ";\n  return s + " + low("a") + " * " +
      low("b") + ";\n}\n");
  return name;
}

std::string Preamble::Reduce(Op op, Type type) {
  const bool add = op == Op::kReduceAdd;
  const std::string vector = TypeName(type);
  const std::string name = std::string(add ? "sum_" : "max_") + vector;
  if (made_.count(name) != 0) return name;
  const std::string scalar(Name(type.dtype));
  // Adds or compares halves, then halves of these: log2(lanes) steps that each work on all
  // remaining lanes at once.
  const int half = type.lanes / 2;
  const auto lanes_from = [&](int first) {
    return List(half, [&](int i) { return Text(first + i); });
  };
  const Type narrow{type.dtype, half};
  const std::string part = TypeName(narrow);
  const std::string combine = add ? "" : MinMax(Op::kMax, narrow);
  const std::string rest = half == 1 ? "" : Reduce(op, narrow);
  First(name);
  const std::string low =
      half == 1 ? "x[0]" : "__builtin_shufflevector(x, x, " + lanes_from(0) + ")";
  const std::string high =
      half == 1 ? "x[1]" : "__builtin_shufflevector(x, x, " + lanes_from(half) + ")";
  Add("INLINE " + scalar + " " + name + "(" + vector + " x) {\n  " + part + " a = " + low +
      ", b = " + high + ";\n  return " + rest + "(" + (add ? "a + b" : combine + "(a, b)") +
      ");\n}\n");
  return name;
}

}  // namespace msc
