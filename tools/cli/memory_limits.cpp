#include "tools/cli/memory_limits.h"

#include <cctype>
#include <cmath>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/text_number.h"

namespace vkformer {

namespace {

/// A number and what follows it; negative where there is none.
std::pair<double, std::string> parsed(const std::string& text) {
  double number = -1;
  const auto [end, error] = decimal_from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  for (char& letter : unit) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  if (unit.ends_with("IB")) unit.erase(unit.size() - 2);
  return {error == std::errc() && std::isfinite(number) ? number : -1, unit};
}

uint64_t bytes_of(double number, const std::string& unit, const std::string& text) {
  constexpr std::string_view units = "KMGT";
  const size_t power = unit.empty() ? 0 : units.find(unit) + 1;
  const double bytes = number * std::pow(1024, static_cast<double>(power));
  check(number >= 0 && unit.size() <= 1 && (unit.empty() || power > 0) && bytes < 0x1p63,
        "{} is no size of memory; give one like 6G or 500M", in_quotes(text, 40));
  return static_cast<uint64_t>(bytes);
}

}  // namespace

MemoryLimits memory_limits(const std::string& device, const std::string& host) {
  MemoryLimits limits;
  if (!device.empty()) {
    const auto [number, unit] = parsed(device);
    if (unit == "%") {
      check(number >= 0 && number <= 100, "{} is no share of the device's memory; give 0% to 100%",
            in_quotes(device, 40));
      limits.share = number / 100;
    } else {
      limits.device = bytes_of(number, unit, device);
    }
  }
  if (!host.empty()) {
    const auto [number, unit] = parsed(host);
    limits.host = bytes_of(number, unit, host);
  }
  return limits;
}

}  // namespace vkformer
