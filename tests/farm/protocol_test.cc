#include "cost/farm/protocol.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/base/rng.h"
#include "cost/farm/blobs.h"
#include "cost/farm/options.h"
#include "tests/farm/support.h"
#include "tests/support/error_of.h"

namespace msc::cost {
namespace {

Message RandomMessage(Rng& rng) {
  Message message;
  message.kind = static_cast<MessageKind>(1 + rng.Below(13));
  message.error = static_cast<RemoteError>(rng.Below(4));
  message.measure = static_cast<std::uint8_t>(rng.Below(2));
  message.busy = rng.Below(2) == 1;
  message.clean = rng.Below(2) == 1;
  message.attempt = static_cast<std::uint32_t>(rng.Below(std::uint64_t{1} << 32U));
  message.task = rng.Below(~std::uint64_t{0});
  if (rng.Below(2) == 1) message.blob = Sha256Hex(std::to_string(rng.Below(1000)));
  message.text.resize(rng.Below(kMaxText + 1));
  for (auto& c : message.text) c = static_cast<char>(rng.Below(256));
  return message;
}

TEST(Protocol, BringsBackEveryMessage) {
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {
    const Message message = RandomMessage(rng);
    const auto back = Decode(Encode(message));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, message);
  }
}

TEST(Protocol, CutsTextThatIsTooLong) {
  Message message;
  message.text = std::string(kMaxText, 'a') + "b";
  EXPECT_EQ(Decode(Encode(message))->text, std::string(kMaxText, 'a'));
}

TEST(Protocol, RefusesEveryFlippedBit) {
  Rng rng(2);
  const Wire wire = Encode(RandomMessage(rng));
  for (std::size_t bit = 0; bit < kWireBytes * 8; ++bit) {
    Wire flipped = wire;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(Decode(flipped)) << "bit " << bit;
  }
}

TEST(Protocol, RefusesEveryOtherLength) {
  const Wire wire = Encode({});
  for (std::size_t size = 0; size < kWireBytes; ++size) {
    EXPECT_FALSE(Decode(std::span(wire).first(size)));
  }
  std::vector<std::byte> longer(wire.begin(), wire.end());
  longer.push_back({});
  EXPECT_FALSE(Decode(longer));
}

TEST(Protocol, RefusesRandomBytes) {
  Rng rng(3);
  for (int i = 0; i < 5000; ++i) {
    Wire wire{};
    for (auto& byte : wire) byte = static_cast<std::byte>(rng.Below(256));
    EXPECT_FALSE(Decode(wire));
  }
}

/// A message with one byte changed and the checksum made right again, as a rank of another version
/// or a faulty one might send.
Wire Forged(std::size_t at, std::uint8_t value) {
  Wire wire = Encode({});
  wire[at] = static_cast<std::byte>(value);
  std::string covered;
  for (std::size_t i = 8; i < kWireBytes; ++i) covered += static_cast<char>(wire[i]);
  const std::uint32_t crc = Crc32c(covered);
  for (std::size_t i = 0; i < 4; ++i) wire[4 + i] = static_cast<std::byte>(crc >> (8 * i));
  return wire;
}

TEST(Protocol, RefusesValuesOutOfRangeUnderARightChecksum) {
  EXPECT_TRUE(Decode(Forged(8, 1)));
  EXPECT_FALSE(Decode(Forged(8, 2)));    // version
  EXPECT_FALSE(Decode(Forged(10, 0)));   // kind
  EXPECT_FALSE(Decode(Forged(10, 14)));  // kind
  EXPECT_FALSE(Decode(Forged(11, 4)));   // error
  EXPECT_TRUE(Decode(Forged(12, 4)));
  EXPECT_FALSE(Decode(Forged(12, 5)));  // measure
  EXPECT_FALSE(Decode(Forged(13, 2)));  // busy
  EXPECT_FALSE(Decode(Forged(15, 1)));  // a blob that is no hash
  EXPECT_FALSE(Decode(Forged(31, 1)));  // text longer than there is room
}

TEST(Blobs, GiveBackWhatWasPut) {
  const BlobFolder blobs(testing::NewFolder("blobs"));
  const std::string bytes("a\0b", 3);
  const std::string name = blobs.Put(bytes);
  EXPECT_EQ(name, Sha256Hex(bytes));
  EXPECT_EQ(blobs.Put(bytes), name);
  EXPECT_EQ(blobs.Get(name), bytes);
}

TEST(Blobs, RefuseAFileThatIsNotWhatItsNameSays) {
  const std::string folder = testing::NewFolder("blobs");
  const BlobFolder blobs(folder);
  const std::string name = blobs.Put("good");
  std::ofstream(folder + "/" + name) << "evil";
  EXPECT_EQ(ErrorOf<SystemError>([&] { (void)blobs.Get(name); }),
            "'" + folder + "/" + name + "' is damaged");
}

TEST(Blobs, ReplaceAFileThatIsNotWhatItsNameSays) {
  const std::string folder = testing::NewFolder("blobs");
  const BlobFolder blobs(folder);
  const std::string name = blobs.Put("good");
  std::ofstream(folder + "/" + name) << "evil";  // as large as what it stands for
  EXPECT_EQ(blobs.Put("good"), name);
  EXPECT_EQ(blobs.Get(name), "good");
}

TEST(Blobs, RefuseANameThatLeavesTheFolder) {
  const BlobFolder blobs(testing::NewFolder("blobs"));
  EXPECT_THROW((void)blobs.Get("../../etc/passwd"), InternalError);
}

TEST(Blobs, ClearOnlyWhatIsTheirs) {
  const std::string folder = testing::NewFolder("blobs");
  const BlobFolder blobs(folder);
  (void)blobs.Put("1");
  std::ofstream(folder + "/.blob-aBcDeF") << "of one who was killed while he wrote it";
  std::ofstream(folder + "/notes.txt") << "mine";
  blobs.Clear();
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(entry.path().filename(), "notes.txt");
    ++files;
  }
  EXPECT_EQ(files, 1U);
}

TEST(FarmOptions, RefuseALeaseShorterThanTwoIntervals) {
  FarmOptions options;
  options.worker_lease_seconds = 0.5;
  EXPECT_EQ(ErrorOf<UserError>([&] { CheckOptions(options); }),
            "'farm.worker_lease_seconds' must be at least twice 'farm.beat_seconds'");
  options = {};
  options.ping_seconds = 15;
  EXPECT_EQ(ErrorOf<UserError>([&] { CheckOptions(options); }),
            "'farm.coordinator_lease_seconds' must be at least twice 'farm.ping_seconds'");
}

TEST(FarmOptions, RoundTripThroughJson) {
  FarmOptions options;
  options.max_attempts = 5;
  EXPECT_EQ(FromJsonText<FarmOptions>(ToJsonText(options), "farm"), options);
}

TEST(UnderMpi, AsksTheEnvironmentItIsGiven) {
  const std::map<std::string, std::string> mpirun{{"OMPI_COMM_WORLD_SIZE", "3"}};
  EXPECT_TRUE(UnderMpi([&](const char* name) {
    const auto it = mpirun.find(name);
    return it == mpirun.end() ? nullptr : it->second.c_str();
  }));
  EXPECT_FALSE(UnderMpi([](const char*) -> const char* { return nullptr; }));
}

TEST(RanksHere, AreWhatTheLauncherSays) {
  const auto told = [](const char* name, const char* text) {
    return RanksHere(
        [=](const char* asked) { return asked == std::string(name) ? text : nullptr; });
  };
  EXPECT_EQ(told("OMPI_COMM_WORLD_LOCAL_SIZE", "3"), 3);
  EXPECT_EQ(told("MPI_LOCALNRANKS", "12"), 12);
  for (const char* nothing : {"", "many", "0", "-2", "3x"}) {
    EXPECT_EQ(told("OMPI_COMM_WORLD_LOCAL_SIZE", nothing), 0) << nothing;
  }
  EXPECT_EQ(told("HOME", "3"), 0);
}

}  // namespace
}  // namespace msc::cost
