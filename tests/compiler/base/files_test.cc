#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/enum_form.h"
#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/mapped_file.h"

namespace msc {
namespace {

class Files : public testing::Test {
 protected:
  // Tests run side by side, each in a process of its own.
  Files() : folder_(testing::TempDir() + "/msc_files_test_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    MakeFolders(folder_);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::size_t Entries() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++count;
    return count;
  }

 private:
  std::string folder_;
};

template <class Action>
std::string UserErrorOf(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

TEST_F(Files, AreReadAsTheyWereWritten) {
  const std::string bytes("a\0b\n\xff", 5);
  WriteFileAtomic(Path("a"), "old");
  WriteFileAtomic(Path("a"), bytes);
  EXPECT_EQ(ReadFile(Path("a")), bytes);
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(Files, KeepTheirOldBytesWhenTheDiskIsFull) {
  WriteFileAtomic(Path("a"), "old");
  // A limit on the size of files acts as a full disk does: write fails half way.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    WriteFileAtomic(Path("a"), std::string(100000, 'x'));
  } catch (const SystemError& error) {
    message = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, "cannot write '" + Path("a") + "': File too large");
  EXPECT_EQ(ReadFile(Path("a")), "old");
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(Files, AreNotWrittenOverDevicesPipesOrFolders) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THROW(WriteFileAtomic(Path("pipe"), "x"), SystemError);
  EXPECT_TRUE(std::filesystem::is_fifo(Path("pipe")));
  EXPECT_THROW(WriteFileAtomic("/dev/null", "x"), SystemError);
  MakeFolders(Path("folder"));
  EXPECT_THROW(WriteFileAtomic(Path("folder"), "x"), SystemError);
  EXPECT_THROW(WriteFileAtomic(Path("none/a"), "x"), SystemError);
  EXPECT_EQ(Entries(), 2U);
}

TEST_F(Files, AreRefusedWhenMissingSpecialOrLarge) {
  EXPECT_EQ(UserErrorOf([&] { (void)ReadFile(Path("a")); }),
            "cannot read '" + Path("a") + "': No such file or directory");
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(UserErrorOf([&] { (void)ReadFile(Path("pipe")); }),
            "'" + Path("pipe") + "' is not a regular file");
  WriteFileAtomic(Path("a"), "12345");
  EXPECT_EQ(UserErrorOf([&] { (void)ReadFile(Path("a"), 4); }),
            "'" + Path("a") + "' has 5 bytes; the limit is 4");
}

TEST_F(Files, AreReadInPieces) {
  WriteFileAtomic(Path("a"), "0123456789");
  const InputFile file(Path("a"));
  EXPECT_EQ(file.size(), 10U);
  const auto read = [&](std::uint64_t offset, std::size_t size) {
    std::string out(size, '.');
    const std::size_t got = file.Read(offset, std::as_writable_bytes(std::span(out)));
    return std::to_string(got) + ":" + out;
  };
  EXPECT_EQ(read(3, 4), "4:3456");
  EXPECT_EQ(read(8, 4), "2:89..");
  EXPECT_EQ(read(10, 2), "0:..");
  std::filesystem::resize_file(Path("a"), 4);
  EXPECT_EQ(read(3, 4), "1:3...");
  EXPECT_EQ(UserErrorOf([&] { const InputFile other(Path("a"), 3); }),
            "'" + Path("a") + "' has 4 bytes; the limit is 3");
}

TEST_F(Files, AreMapped) {
  WriteFileAtomic(Path("a"), "0123456789");
  const int fd = ::open(Path("a").c_str(), O_RDONLY | O_CLOEXEC);
  const MappedFile map(fd, 10);
  ::close(fd);
  const auto bytes = map.bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "0123456789");
  EXPECT_THROW(MappedFile(-1, 10), SystemError);
}

TEST_F(Files, AreNotThereBeforeTheyAreCommitted) {
  WriteFileAtomic(Path("a"), "old");
  { AtomicFile(Path("a")).Append("lost"); }
  EXPECT_EQ(ReadFile(Path("a")), "old");
  EXPECT_EQ(Entries(), 1U);
  AtomicFile file(Path("a"));
  file.Append("in ");
  file.Append("parts");
  EXPECT_EQ(ReadFile(Path("a")), "old");
  file.Commit();
  EXPECT_EQ(ReadFile(Path("a")), "in parts");
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(Files, KeepScratchDataWithoutAName) {
  MakeFolders(Path("scratch"));
  ASSERT_EQ(::setenv("TMPDIR", Path("scratch").c_str(), 1), 0);
  ScratchFile file;
  const auto write = [&](std::uint64_t offset, const std::string& text) {
    file.Write(offset, std::as_bytes(std::span(text)));
  };
  std::string read(6, '?');
  EXPECT_THROW(file.Read(0, std::as_writable_bytes(std::span(read))), InternalError);
  write(3, "def");
  write(0, "abc");
  EXPECT_TRUE(std::filesystem::is_empty(Path("scratch")));
  file.Read(0, std::as_writable_bytes(std::span(read)));
  EXPECT_EQ(read, "abcdef");
  EXPECT_THROW(file.Read(1, std::as_writable_bytes(std::span(read))), InternalError);
  ASSERT_EQ(::setenv("TMPDIR", Path("none").c_str(), 1), 0);
  try {
    ScratchFile().Write(0, std::as_bytes(std::span(read)));
    ADD_FAILURE() << "a folder that is not there";
  } catch (const SystemError& error) {
    EXPECT_EQ(error.what(), "cannot keep data in '" + Path("none") +
                                "'; TMPDIR may name another folder: No such file or directory");
  }
  ASSERT_EQ(::unsetenv("TMPDIR"), 0);
  ScratchFile().Write(0, std::as_bytes(std::span(read)));
}

struct Inner {
  std::string word = "b";
  float ratio = 0.5F;
  static void Fields(auto& self, auto& visit) {
    visit("word", self.word, "a word", Within::OneOf({"a", "b"}));
    visit("ratio", self.ratio, "a ratio");
  }
};

struct Config {
  int rounds = 30;
  std::uint8_t small = 1;
  double share = 0.25;
  bool on = true;
  std::optional<std::int64_t> limit;
  std::vector<Inner> inner;
  std::map<std::string, double> scales;
  static void Fields(auto& self, auto& visit) {
    visit("rounds", self.rounds, "rounds", Within{1, 100});
    visit("small", self.small, "small");
    visit("share", self.share, "share", Within{0, 1});
    visit("on", self.on, "on");
    visit("limit", self.limit, "limit");
    visit("inner", self.inner, "inner");
    visit("scales", self.scales, "scales");
  }
};

TEST(Fields, RoundTrip) {
  const std::string text =
      R"({"inner":[{"ratio":0.125,"word":"a"}],"limit":7,"on":false,"rounds":100,)"
      R"("scales":{"x":0.1},"share":1.0,"small":255})";
  EXPECT_EQ(ToJsonText(FromJsonText<Config>(text, "c")), text);
  EXPECT_EQ(FromJsonText<Config>("{}", "c").rounds, 30);
  EXPECT_EQ(FromJsonText<Config>(R"({"limit":null})", "c").limit, std::nullopt);
}

TEST(Fields, RefuseToWriteTextThatIsNotUtf8) {
  Config config;
  config.scales["\xff"] = 1;
  EXPECT_THROW((void)ToJsonText(config), UserError);
}

enum class Colour : std::uint8_t { kRed, kBlue };
constexpr std::array<std::string_view, 2> kColours = {"red", "blue"};

/// Fields that JSON holds as strings.
struct Strings {
  Colour colour = Colour::kRed;
  std::vector<Colour> list;
  std::map<std::string, Colour> map;
  Inner inner;
  static void Fields(auto& self, auto& visit) {
    visit("colour", self.colour, "colour");
    visit("list", self.list, "list");
    visit("map", self.map, "map");
    JsonText inner{self.inner};
    visit("inner", inner, "text of an Inner");
  }
};

}  // namespace

template <>
struct StringForm<Colour> : EnumForm<Colour, kColours> {};

namespace {

TEST(Fields, OfATypeWithAStringFormAreStrings) {
  const std::string text = R"({"colour":"blue","inner":"{\"ratio\":0.5,\"word\":\"b\"}",)"
                           R"("list":["red","blue"],"map":{"x":"blue"}})";
  EXPECT_EQ(ToJsonText(FromJsonText<Strings>(text, "c")), text);
}

TEST(Fields, WithAStringFormAreRefusedByName) {
  const auto refusal = [](const std::string& text) {
    return UserErrorOf([&] { (void)FromJsonText<Strings>(text, "c"); });
  };
  EXPECT_EQ(refusal(R"({"list":["red",""]})"), "'list[1]': '' is not one of red, blue");
  EXPECT_EQ(refusal(R"({"map":{"x":1}})"), "'map.x' must be a string, not 1");
}

TEST(Fields, OfAJsonTextAreRefusedByName) {
  const auto refusal = [](const std::string& text) {
    return UserErrorOf([&] { (void)FromJsonText<Strings>(text, "c"); });
  };
  EXPECT_EQ(refusal(R"({"inner":"{"})"), "'inner' is not valid JSON at line 1, column 2");
  EXPECT_EQ(refusal(R"({"inner":"{\"word\":\"c\"}"})"),
            "'inner.word' must be one of a, b, not \"c\"");
}

struct BadConfig {
  std::string label;
  std::string text;
  std::string message;
};

void PrintTo(const BadConfig& bad, std::ostream* out) {
  *out << bad.label;
}

class BadConfigs : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigs, AreRefusedByName) {
  EXPECT_EQ(UserErrorOf([] { (void)FromJsonText<Config>(GetParam().text, "c"); }),
            GetParam().message);
}

const std::vector<BadConfig>& Bad() {
  static const std::vector<BadConfig> kBad = {
      {"UnknownKey", R"({"round":1})",
       "unknown key 'round'; known here: rounds, small, share, on, limit, inner, scales"},
      {"UnknownInnerKey", R"({"inner":[{"x":1}]})",
       "unknown key 'inner[0].x'; known here: word, ratio"},
      {"BelowBound", R"({"rounds":0})", "'rounds' must be between 1 and 100, not 0"},
      {"AboveBound", R"({"rounds":101})", "'rounds' must be between 1 and 100, not 101"},
      {"DoesNotFit", R"({"small":256})", "'small' must be an integer that fits, not 256"},
      {"Negative", R"({"small":-1})", "'small' must be an integer that fits, not -1"},
      {"Fraction", R"({"rounds":1.5})", "'rounds' must be an integer, not 1.5"},
      {"TooMuch", R"({"share":1.01})", "'share' must be between 0 and 1, not 1.01"},
      {"TooWideForFloat", R"({"inner":[{"ratio":1e300}]})",
       "'inner[0].ratio' must be finite, not 1e+300"},
      {"NotBool", R"({"on":1})", "'on' must be true or false, not 1"},
      {"NotWord", R"({"inner":[{"word":"c"}]})", "'inner[0].word' must be one of a, b, not \"c\""},
      {"NotList", R"({"inner":{}})", "'inner' must be a list, not {}"},
      {"NotObject", R"({"scales":[]})", "'scales' must be an object, not []"},
      {"NotNumber", R"({"scales":{"x":"1"}})", "'scales.x' must be a number, not \"1\""},
      {"NotJson", "{", "c is not valid JSON at line 1, column 2"},
      {"HugeNumber", R"({"share":1e999})", "c holds a number that is out of range"},
      {"Deep", std::string(100, '['), "c: JSON nested deeper than 64 levels"},
  };
  return kBad;
}

INSTANTIATE_TEST_SUITE_P(All, BadConfigs, testing::ValuesIn(Bad()),
                         [](const auto& bad) { return bad.param.label; });

}  // namespace
}  // namespace msc
