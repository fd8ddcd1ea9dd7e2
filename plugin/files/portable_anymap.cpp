// Reading what netpbm's pbm(5), pgm(5) and ppm(5) describe. GStreamer's own decoder reads memory
// that is not there where a header is damaged.
#include "plugin/files/portable_anymap.hpp"

namespace regions {
namespace {

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  int byte() {  // -1 at the end
    if (rest_.empty()) return -1;
    const int first = static_cast<int>(rest_.front());
    rest_ = rest_.subspan(1);
    return first;
  }
  // A number of up to `most`, and the one character behind it; -1 where there is none.
  int number(int most) {
    int digit = first_digit();
    if (digit < 0) return -1;
    int value = 0;
    for (; digit >= '0' && digit <= '9'; digit = byte()) {
      value = value * 10 + digit - '0';
      if (value > most) return -1;
    }
    return value;
  }
  // A digit of a P1, which need not stand apart.
  int bit() {
    const int digit = first_digit();
    return digit == '0' || digit == '1' ? digit - '0' : -1;
  }
  size_t left() const { return rest_.size(); }

 private:
  // Behind white space and comments; -1 if something else is there.
  int first_digit() {
    for (;;) {
      int next = byte();
      if (next >= '0' && next <= '9') return next;
      if (next == '#') {
        while (next >= 0 && next != '\n' && next != '\r') next = byte();
      } else if (next != ' ' && (next < '\t' || next > '\r')) {
        return -1;
      }
    }
  }
  std::span<const std::byte> rest_;
};

struct Kind {
  int channels;
  bool plain;  // numbers as text
  bool bits;
};

// Whether so much may follow, before memory is taken for it.
bool may_hold(const Reader& file, const Kind& kind, Size size, int greatest) {
  const auto columns = static_cast<size_t>(size.width), rows = static_cast<size_t>(size.height);
  if (kind.plain) return file.left() >= columns * rows;
  const size_t sample = greatest > 255 ? 2 : 1;
  const size_t row =
      kind.bits ? (columns + 7) / 8 : columns * static_cast<size_t>(kind.channels) * sample;
  return file.left() >= row * rows;
}

int sample(Reader& file, const Kind& kind, int greatest) {
  if (kind.plain) return kind.bits ? file.bit() : file.number(greatest);
  const int first = file.byte();
  return greatest > 255 ? first << 8 | file.byte() : first;
}

}  // namespace

std::optional<Anymap> read_anymap(std::span<const std::byte> bytes, int most) {
  Reader file(bytes);
  const int letter = file.byte(), digit = file.byte() - '0';
  if (letter != 'P' || digit < 1 || digit > 6) return {};
  const Kind kind = {digit % 3 == 0 ? 3 : 1, digit <= 3, digit % 3 == 1};
  Anymap map;
  map.size = {file.number(most), 0};
  map.size.height = file.number(most);
  const int greatest = kind.bits ? 1 : file.number(65535);
  if (map.size.width < 1 || map.size.height < 1 || greatest < 1) return {};
  if (!may_hold(file, kind, map.size, greatest)) return {};
  const size_t pitch = (static_cast<size_t>(map.size.width) * 3 + 3) / 4 * 4;
  map.pixels.reserve(pitch * static_cast<size_t>(map.size.height));
  for (int y = 0; y < map.size.height; ++y) {
    int packed = 0;
    for (int x = 0; x < map.size.width; ++x) {
      for (int c = 0; c < kind.channels; ++c) {
        if (kind.bits && !kind.plain && x % 8 == 0) packed = file.byte();
        int value =
            kind.bits && !kind.plain ? packed >> (7 - x % 8) & 1 : sample(file, kind, greatest);
        if (value < 0 || value > greatest) return {};
        if (kind.bits) value = 1 - value;  // 1 is black
        const auto shown = static_cast<std::byte>((value * 255 + greatest / 2) / greatest);
        map.pixels.insert(map.pixels.end(), kind.channels == 1 ? 3 : 1, shown);
      }
    }
    map.pixels.resize(pitch * static_cast<size_t>(y + 1));
  }
  return map;
}

}  // namespace regions
