// Netpbm's six kinds of files: what each byte of them means, and where they are refused.
#include <gtest/gtest.h>

#include <string>

#include "plugin/files/property_files.hpp"

namespace regions {
namespace {

using namespace std::string_literals;

// "2x1: 0 0 0 255 255 255 …" with the padding of rows; "none" where it is refused.
std::string read(const std::string& file, int most = 100) {
  const auto map = read_anymap(std::as_bytes(std::span(file.data(), file.size())), most);
  if (!map) return "none";
  std::string text = std::to_string(map->size.width) + "x" + std::to_string(map->size.height) + ":";
  for (const std::byte b : map->pixels) text += " " + std::to_string(static_cast<int>(b));
  return text;
}

TEST(Anymap, EachKindIsAsItsPageSays) {
  const std::pair<std::string, std::string> cases[] = {
      // Bits: 1 is black; digits need not stand apart, packed rows begin at a byte.
      {"P1 2 2 1001", "2x2: 0 0 0 255 255 255 0 0 255 255 255 0 0 0 0 0"},
      {"P1 1 1 1", "1x1: 0 0 0 0"},
      {"P1\n2\n1\n 1\t0", "2x1: 0 0 0 255 255 255 0 0"},
      {"P4 3 2 \xbf\x40"s,
       "3x2: 0 0 0 255 255 255 0 0 0 0 0 0 255 255 255 0 0 0 255 255 255 0 0 0"},
      {"P4 9 1 \xff\x7f"s, "9x1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 255 255 255 0"},
      // Grays, as shares of the greatest, rounded.
      {"P2 3 1 10 0 5 10", "3x1: 0 0 0 128 128 128 255 255 255 0 0 0"},
      {"P2 1 1 65535 32896", "1x1: 128 128 128 0"},
      {"P2 1 1 1 1", "1x1: 255 255 255 0"},
      {"P5 2 1 255 \x01\x02"s, "2x1: 1 1 1 2 2 2 0 0"},
      {"P5 2 1 10 \x03\x0a"s, "2x1: 77 77 77 255 255 255 0 0"},
      {"P5 1 1 256 \x01\x00"s, "1x1: 255 255 255 0"},
      {"P5 1 1 1000 \x01\xf4"s, "1x1: 128 128 128 0"},
      // Colours.
      {"P3 1 2 255 1 2 3 4 5 6", "1x2: 1 2 3 0 4 5 6 0"},
      {"P6 2 1 255 \x01\x02\x03\x04\x05\x06"s, "2x1: 1 2 3 4 5 6 0 0"},
      {"P6 1 1 511 \x00\x01\x01\x00\x01\xff"s, "1x1: 0 128 255 0"},
      // White space and comments in a header; one character behind it, whatever it is.
      {"P2#a\n# b\r\t1 #c\n1\v9\f9 ", "1x1: 255 255 255 0"},
      {"P5 1 1 255\n#", "1x1: 35 35 35 0"},
      {"P5 1 1 255##", "1x1: 35 35 35 0"},
      {"P2 0001 01 0255 007", "1x1: 7 7 7 0"},
      // More than the picture follows.
      {"P5 1 1 255 ab", "1x1: 97 97 97 0"},
  };
  for (const auto& [file, expected] : cases) EXPECT_EQ(read(file), expected) << file;
}

TEST(Anymap, WhatIsDamagedIsRefused) {
  for (const std::string& file : {"P0 1 1 255 a"s,
                                  "P7 1 1 255 a"s,
                                  "Q5 1 1 255 a"s,
                                  "P51 1 255 "s,
                                  "P"s,
                                  ""s,
                                  "P5"s,
                                  "P5 "s,
                                  "P5 1"s,
                                  "P5 1 1"s,
                                  "P5 1 1 255"s,
                                  "P5 1 1 255 "s,
                                  "P5 0 1 255 a"s,
                                  "P5 1 0 255 a"s,
                                  "P5 1 1 0 a"s,
                                  "P5 1 1 65536 ab"s,
                                  "P5 x 1 255 a"s,
                                  "P5 1 -1 255 a"s,
                                  "P5 1 1 # 255 a"s,
                                  "P5 1 1 10 \x0b"s,
                                  "P5 1 1 256 \x01\x01"s,
                                  "P2 1 1 10 11"s,
                                  "P2 1 1 10 "s,
                                  "P2 1 1 10 x"s,
                                  "P1 1 1 2"s,
                                  "P1 1 1 x"s,
                                  "P1 2 1 1"s,
                                  "P3 1 1 9 1 2"s,
                                  "P3 1 1 9 1 2 10"s,
                                  "P6 1 1 255 ab"s,
                                  "P6 1 1 256 \x00\x01\x00\x01\x00"s,
                                  "P4 9 1 a"s,
                                  "P4 9 2 abc"s,
                                  "P5 4294967297 1 255 a"s}) {
    EXPECT_EQ(read(file), "none") << file;
  }
}

TEST(Anymap, SidesHaveALimit) {
  const std::string wide = "P5 3 1 255 abc", high = "P5 1 3 255 abc";
  EXPECT_EQ(read(wide, 3).substr(0, 3), "3x1");
  EXPECT_EQ(read(high, 3).substr(0, 3), "1x3");
  EXPECT_EQ(read(wide, 2), "none");
  EXPECT_EQ(read(high, 2), "none");
}

}  // namespace
}  // namespace regions
