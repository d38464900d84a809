#include "compiler/ops/regex.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"

namespace msc {
namespace {

struct Case {
  std::string pattern;
  std::vector<std::string> matching;
  std::vector<std::string> others;
};

// Source: https://github.com/google/re2/wiki/Syntax.
const std::vector<Case>& Cases() {
  static const std::vector<Case> kCases = {
      {"", {""}, {"a"}},
      {"abc", {"abc"}, {"ab", "abcd", "xabc"}},
      {"a|bc|", {"a", "bc", ""}, {"abc", "b"}},
      {"(a|b)*c", {"c", "abbac"}, {"ab", "abcab"}},
      {"a{2,3}", {"aa", "aaa"}, {"a", "aaaa"}},
      {"a{2}b{0}", {"aa"}, {"aab", "a"}},
      {"(ab){2,}?", {"abab", "ababab"}, {"ab", "aba"}},
      {"a+?b??", {"a", "aab"}, {"b", "abb"}},
      {"x{,2}", {"x{,2}"}, {"xx"}},
      {"a{1", {"a{1"}, {"a"}},
      {".", {"a", "\xC3\xA4"}, {"\n", "", "ab", "\xFF"}},
      {"[a-c-]", {"a", "c", "-"}, {"d", "a-"}},
      {"[^a-c]", {"d", "\n"}, {"b"}},
      {"[]a]+", {"]a"}, {"b"}},
      {"[\\w.-]+", {"a.b-c_9"}, {"a b"}},
      {"[^\\D]+", {"123"}, {"12a"}},
      {"[\\D\\n]", {"a"}, {"1"}},
      {"\\d\\D\\s\\S\\w\\W", {"1a bc-"}, {"aa bc-"}},
      {"\\x41\\x{e4}\\.\\t", {"A\xC3\xA4.\t"}, {"Aa.\t"}},
      {"^ab$", {"ab"}, {"ab\n"}},
      {"a\\b.c", {"a c"}, {"abc"}},
      {"a\\Bbc", {"abc"}, {"a bc"}},
      {"\\Aa\\z", {"a"}, {"aa"}},
      {"(?:a)(?P<name>b)(?<other>c)", {"abc"}, {"ab"}},
      {"(a*)*b", {"b", "aab"}, {"a"}},
      {"(|a)+", {"", "aaa"}, {"b"}},
  };
  return kCases;
}

TEST(Regex, MatchesWhatRe2Does) {
  for (const Case& one : Cases()) {
    const Regex regex(one.pattern);
    for (const std::string& text : one.matching) {
      EXPECT_TRUE(regex.MatchesAll(text)) << one.pattern << " on " << text;
    }
    for (const std::string& text : one.others) {
      EXPECT_FALSE(regex.MatchesAll(text)) << one.pattern << " on " << text;
    }
  }
}

// A search that goes back would take 2^30 steps.
TEST(Regex, TakesTimeInProportionToTheText) {
  const Regex regex("(a|a)*(a|a)*(a|aa)*b");
  EXPECT_FALSE(regex.MatchesAll(std::string(20000, 'a')));
}

// Repetitions in repetitions, which would take 2^150 steps if each read its part anew.
TEST(Regex, IsReadInTimeInProportionToItsLength) {
  std::string nested = std::string(150, '(') + "a";
  for (int i = 0; i < 150; ++i) nested += ")?";
  EXPECT_TRUE(Regex(nested).MatchesAll("a"));
  EXPECT_TRUE(Regex(nested).MatchesAll(""));
  EXPECT_FALSE(Regex(nested).MatchesAll("aa"));
}

std::string ErrorOf(const std::string& pattern) {
  try {
    (void)Regex(pattern);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

TEST(Regex, RefusesWhatItCannotRead) {
  EXPECT_EQ(ErrorOf("(a"), "the expression '(a' has a '(' without its ')'");
  EXPECT_EQ(ErrorOf("a)"), "the expression 'a)' has a ')' without its '('");
  EXPECT_EQ(ErrorOf("*"), "the expression '*' repeats nothing");
  EXPECT_EQ(ErrorOf("a**"), "the expression 'a**' repeats a repetition");
  EXPECT_EQ(ErrorOf("[a"), "the expression '[a' ends too early");
  EXPECT_EQ(ErrorOf("[b-a]"),
            "the expression '[b-a]' has a range of characters that ends before it starts");
  EXPECT_EQ(ErrorOf("\\pL"), "the expression '\\pL' has \\p, which is not supported");
  EXPECT_EQ(ErrorOf("(?i)a"), "the expression '(?i)a' has flags, which are not supported");
  EXPECT_EQ(ErrorOf("[[:alpha:]]"),
            "the expression '[[:alpha:]]' has a class [:...:], which is not supported");
  EXPECT_EQ(ErrorOf("a{2000}"),
            "the expression 'a{2000}' has a number of repetitions that is not supported");
  EXPECT_EQ(ErrorOf("((a{999}){999}){999}"), "the expression '((a{999}){999}){999}' is too long");
  EXPECT_EQ(ErrorOf(std::string(300, '(')).substr(16 + 60), "' nests too deeply");
  EXPECT_EQ(ErrorOf("\xFF"), "the expression '\xFF' is no UTF-8");
}

}  // namespace
}  // namespace msc
