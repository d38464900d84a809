// The conversions of Preamble between f32 and floats of 16 bits.

#include <string>

#include "compiler/codegen/cpp/math_text.h"
#include "compiler/codegen/cpp/preamble.h"

namespace msc {

using kernel::Type;

std::string Preamble::ToBF16(int lanes) {
  Bits();
  const Type type{DType::kBF16, lanes};
  const std::string to = TypeName(type);
  const std::string from = TypeName({DType::kF32, lanes});
  const std::string u32 = TypeName({DType::kU32, lanes});
  const std::string name = "to_" + to;
  if (!First(name)) return name;
  Add("INLINE " + to + " " + name + "(" + from + " x) {\n");
  if (isa_.bf16 && (lanes == 16 || lanes == 8)) {
    Add("#ifndef __clang__\n  return (" + to + ")__builtin_ia32_cvtneps2bf16_v" +
        std::to_string(lanes) + "sf(x);\n#else\n");
  }
  // Adding 0x7fff, and 1 if the last kept bit is odd, rounds half to even; the carry into the
  // exponent turns the largest numbers into infinity. A NaN is cut instead, with its quiet bit 64
  // set, because its other bits may all lie in the lower half.
  Add("  " + u32 + " u = bits<" + u32 + ">(x);\n  return convert<" + to +
      ">(x == x ? (u + 32767u + ((u >> 16) & 1u)) >> 16 : (u >> 16) | 64u);\n");
  if (isa_.bf16 && (lanes == 16 || lanes == 8)) Add("#endif\n");
  Add("}\n");
  return name;
}

std::string Preamble::FromBF16(int lanes) {
  Bits();
  const std::string from = TypeName({DType::kBF16, lanes});
  const std::string to = TypeName({DType::kF32, lanes});
  const std::string u32 = TypeName({DType::kU32, lanes});
  const std::string name = "from_" + from;
  if (First(name)) {
    Add("INLINE " + to + " " + name + "(" + from + " x) { return bits<" + to + ">(convert<" + u32 +
        ">(x) << 16); }\n");
  }
  return name;
}

std::string Preamble::ToF16(int lanes) {
  Bits();
  const std::string to = TypeName({DType::kF16, lanes});
  const std::string from = TypeName({DType::kF32, lanes});
  const std::string i32 = TypeName({DType::kI32, lanes});
  const std::string name = "to_" + TypeName({DType::kF16, lanes});
  if (!First(name)) return name;
  if (First("half")) Add(std::string(HalfText()));
  Add("INLINE " + to + " " + name + "(" + from + " x) {\n");
  // F16C and AVX512F round half to even if the last bits of the immediate are 0.
  if (isa_.avx512 && lanes == 16) {
    Add("  typedef short words __attribute__((vector_size(32)));\n  return (" + to +
        ")__builtin_ia32_vcvtps2ph512_mask(x, 0, (words){}, (unsigned short)65535);\n}\n");
  } else if (isa_.avx2 && lanes == 8) {
    Add("  return (" + to + ")__builtin_ia32_vcvtps2ph256(x, 0);\n}\n");
  } else {
    Add("  return convert<" + to + ">(msc_to_half<" + from + ", " + i32 + ">(x));\n}\n");
  }
  return name;
}

std::string Preamble::FromF16(int lanes) {
  Bits();
  const std::string from = TypeName({DType::kF16, lanes});
  const std::string to = TypeName({DType::kF32, lanes});
  const std::string i32 = TypeName({DType::kI32, lanes});
  const std::string name = "from_" + TypeName({DType::kF16, lanes});
  if (!First(name)) return name;
  if (First("half")) Add(std::string(HalfText()));
  Add("INLINE " + to + " " + name + "(" + from + " x) {\n");
  if (isa_.avx512 && lanes == 16) {
    // 4 is _MM_FROUND_CUR_DIRECTION; the conversion is exact.
    Add("  typedef short words __attribute__((vector_size(32)));\n"
        "  return __builtin_ia32_vcvtph2ps512_mask((words)x, (" +
        to + "){}, (unsigned short)65535, 4);\n}\n");
  } else if (isa_.avx2 && lanes == 8) {
    Add("  typedef short words __attribute__((vector_size(16)));\n"
        "  return __builtin_ia32_vcvtph2ps256((words)x);\n}\n");
  } else {
    Add("  return msc_from_half<" + to + ", " + i32 + ">(convert<" + i32 + ">(x));\n}\n");
  }
  return name;
}

}  // namespace msc
