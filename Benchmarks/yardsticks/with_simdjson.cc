// An array of CodableDiagnosisKey to columns by simdjson, on demand, key data to bytes: with_simdjson FILE
#include <simdjson.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "turns.h"

namespace {

using Key = std::array<std::uint8_t, 16>;

struct Columns {
  std::vector<Key> keys;
  std::vector<std::uint32_t> periods, starts;
  std::vector<std::uint8_t> risks;
};

constexpr std::uint8_t no_digit = 255;

constexpr std::array<std::uint8_t, 256> digits = [] {
  std::array<std::uint8_t, 256> values{};
  for (auto& value : values) value = no_digit;
  std::uint8_t value = 0;
  for (const char digit : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")) {
    values[static_cast<unsigned char>(digit)] = value++;
  }
  return values;
}();

// Sixteen bytes are 22 digits and "==".
Key key(std::string_view text) {
  if (text.size() != 24 || text[22] != '=' || text[23] != '=') throw std::runtime_error("not a key");
  Key key;
  std::uint8_t seen = 0;
  const auto digit = [&](int index) {
    const auto value = digits[static_cast<unsigned char>(text[index])];
    seen |= value;
    return std::uint32_t{value};
  };
  for (int group = 0; group < 5; ++group) {
    const int at = 4 * group;
    const auto bits = digit(at) << 18 | digit(at + 1) << 12 | digit(at + 2) << 6 | digit(at + 3);
    key[3 * group] = bits >> 16;
    key[3 * group + 1] = bits >> 8;
    key[3 * group + 2] = bits;
  }
  key[15] = digit(20) << 2 | digit(21) >> 4;
  if (seen & 0xc0) throw std::runtime_error("not a key");
  return key;
}

}  // namespace

int main(int, char** arguments) {
  const auto file = simdjson::padded_string::load(arguments[1]).value();
  simdjson::ondemand::parser parser;
  Columns columns;
  return take_turns([&] {
    columns.keys.clear();
    columns.periods.clear();
    columns.starts.clear();
    columns.risks.clear();
    auto document = parser.iterate(file);
    for (auto element : document.get_array()) {
      auto object = element.get_object();
      columns.keys.push_back(key(object["keyData"].get_string().value()));
      columns.periods.push_back(object["rollingPeriod"].get_uint64().value());
      columns.starts.push_back(object["rollingStartNumber"].get_uint64().value());
      columns.risks.push_back(object["transmissionRiskLevel"].get_uint64().value());
    }
    return columns.keys.size();
  });
}
