// The distinct among keys of sixteen bytes, one behind the other: with_unordered_set FILE
#include <cstdint>
#include <cstring>
#include <unordered_set>

#include "turns.h"

namespace {

struct Key {
  std::uint64_t high, low;
  bool operator==(const Key& other) const { return high == other.high && low == other.low; }
};

struct Hash {
  std::uint64_t seed;
  std::size_t operator()(const Key& key) const { return (key.high ^ seed) * 0x9e3779b97f4a7c15 ^ key.low; }
};

}  // namespace

int main(int, char** arguments) {
  const std::string file = contents(arguments[1]);
  const auto seed = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return take_turns([&] {
    std::unordered_set<Key, Hash> keys(0, Hash{seed});
    for (std::size_t at = 0; at + sizeof(Key) <= file.size(); at += sizeof(Key)) {
      Key key;
      std::memcpy(&key, file.data() + at, sizeof key);
      keys.insert(key);
    }
    return keys.empty() ? 0 : file.size() / sizeof(Key);
  });
}
