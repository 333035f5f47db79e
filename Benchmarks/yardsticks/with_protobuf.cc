// export.bin to columns and back by protobuf's generated code with an arena: with_protobuf decode|encode FILE
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "export.pb.h"
#include "turns.h"

namespace {

constexpr std::size_t magic_length = 16;

struct Columns {
  struct Key {
    unsigned char bytes[16];
  };
  enum Present : std::uint8_t { risk = 1, start = 2, period = 4, type = 8, onset = 16, revised = 32 };

  std::vector<Key> keys;
  std::vector<std::int32_t> risks, starts, periods, onsets;
  std::vector<std::uint8_t> types, fields;

  std::size_t size() const { return keys.size(); }

  void clear() {
    keys.clear();
    for (auto* column : {&risks, &starts, &periods, &onsets}) column->clear();
    for (auto* column : {&types, &fields}) column->clear();
  }

  void append(const TemporaryExposureKey& message, bool is_revised) {
    Key key{};
    std::memcpy(key.bytes, message.key_data().data(), std::min(message.key_data().size(), sizeof key.bytes));
    keys.push_back(key);
    risks.push_back(message.transmission_risk_level());
    starts.push_back(message.rolling_start_interval_number());
    periods.push_back(message.rolling_period());
    onsets.push_back(message.days_since_onset_of_symptoms());
    types.push_back(static_cast<std::uint8_t>(message.report_type()));
    fields.push_back((message.has_transmission_risk_level() ? risk : 0) |
                     (message.has_rolling_start_interval_number() ? start : 0) |
                     (message.has_rolling_period() ? period : 0) | (message.has_report_type() ? type : 0) |
                     (message.has_days_since_onset_of_symptoms() ? onset : 0) | (is_revised ? revised : 0));
  }

  void fill(TemporaryExposureKey& message, std::size_t index) const {
    const auto has = fields[index];
    message.set_key_data(keys[index].bytes, sizeof keys[index].bytes);
    if (has & risk) message.set_transmission_risk_level(risks[index]);
    if (has & start) message.set_rolling_start_interval_number(starts[index]);
    if (has & period) message.set_rolling_period(periods[index]);
    if (has & type) message.set_report_type(static_cast<TemporaryExposureKey::ReportType>(types[index]));
    if (has & onset) message.set_days_since_onset_of_symptoms(onsets[index]);
  }
};

std::size_t decode(std::string_view body, Columns& columns) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<TemporaryExposureKeyExport>(&arena);
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) throw std::runtime_error("no export");
  columns.clear();
  for (const auto& key : message.keys()) columns.append(key, false);
  for (const auto& key : message.revised_keys()) columns.append(key, true);
  return columns.size();
}

std::size_t encode(const Columns& columns, std::string& bytes) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<TemporaryExposureKeyExport>(&arena);
  for (std::size_t index = 0; index < columns.size(); ++index) {
    const bool is_revised = columns.fields[index] & Columns::revised;
    columns.fill(is_revised ? *message.add_revised_keys() : *message.add_keys(), index);
  }
  if (!message.SerializeToString(&bytes)) throw std::runtime_error("not written");
  return columns.size();
}

}  // namespace

int main(int, char** arguments) {
  const std::string file = contents(arguments[2]);
  const auto body = std::string_view(file).substr(magic_length);
  Columns columns;
  if (arguments[1] == std::string_view("decode")) return take_turns([&] { return decode(body, columns); });
  decode(body, columns);
  std::string bytes;
  return take_turns([&] { return encode(columns, bytes); });
}
