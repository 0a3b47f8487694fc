#include "runtime/vulkan/device_choice.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <tuple>

#include "runtime/check.h"

namespace vkformer {

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

int rank(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::discrete: return 0;
    case DeviceKind::integrated: return 1;
    case DeviceKind::other: return 2;
    case DeviceKind::cpu: return 3;
  }
  return 4;
}

/// By which devices are ordered, whether they can be used or not: what is less goes first. Drivers for CPUs all have
/// the host's memory, and tell what they like of it.
std::tuple<int, int, uint64_t> preference(const InspectedDevice& device) {
  const DeviceFacts& facts = device.facts;
  if (facts.is_cpu()) return {rank(facts.kind), 0, 0};
  return {rank(facts.kind), -static_cast<int>(std::bit_width(facts.memory_free)), ~facts.memory_total};
}

bool is_usable(const InspectedDevice& device) { return device.unusable.empty(); }

/// The first of those that fit: what can be used before what can't.
template <class Fits>
std::optional<int> first_of(const std::vector<InspectedDevice>& devices, const Fits& fits) {
  std::optional<int> best;
  const auto badness = [&](int i) {
    const InspectedDevice& device = devices[static_cast<size_t>(i)];
    return std::pair(!is_usable(device), preference(device));
  };
  for (int i = 0; i < std::ssize(devices); ++i)
    if (fits(i) && (!best || badness(i) < badness(*best))) best = i;
  return best;
}

}  // namespace

std::optional<int> best_device(const std::vector<InspectedDevice>& devices) {
  return first_of(devices, [&](int i) { return is_usable(devices[static_cast<size_t>(i)]); });
}

int choose_device(const std::vector<InspectedDevice>& devices, const std::string& choice) {
  std::string list, reasons;
  for (size_t i = 0; i < devices.size(); ++i) {
    list += fmt::format("{}{}: {}", i ? ", " : "", i, devices[i].facts.name);
    reasons += fmt::format("{}{}: {} ({})", i ? ", " : "", i, devices[i].facts.name, devices[i].unusable);
  }
  if (choice.empty()) {
    const auto best = best_device(devices);
    check(best.has_value(), "none of the Vulkan devices can be used: {}; or use --device reference", reasons);
    return *best;
  }
  int index = -1;
  const auto parsed = std::from_chars(choice.data(), choice.data() + choice.size(), index);
  // A number that is none of theirs may be what the card is called by.
  const bool numeric = parsed.ptr == choice.data() + choice.size() && index >= 0 && index < std::ssize(devices);
  const auto chosen = first_of(devices, [&](int i) {
    return numeric ? i == index
                   : lower(devices[static_cast<size_t>(i)].facts.name).find(lower(choice)) != std::string::npos;
  });
  check(chosen.has_value(), "no device '{}'; choose one by number or part of its name: {}, or 'reference'", choice,
        list);
  const InspectedDevice& entry = devices[static_cast<size_t>(*chosen)];
  check(is_usable(entry), "device {} ({}) can't be used: {}", *chosen, entry.facts.name, entry.unusable);
  return *chosen;
}

std::string other_devices(const std::vector<InspectedDevice>& devices, int but) {
  std::string list;
  for (int i = 0; i < std::ssize(devices); ++i)
    if (const InspectedDevice& device = devices[static_cast<size_t>(i)]; i != but && is_usable(device))
      list += fmt::format("{0}{1}: {2} (--device {1})", list.empty() ? "" : ", ", i, device.facts.name);
  return list;
}

std::string device_with_room(const std::vector<InspectedDevice>& devices, int but, uint64_t bytes) {
  const auto best = first_of(devices, [&](int i) {
    const InspectedDevice& device = devices[static_cast<size_t>(i)];
    return i != but && is_usable(device) && device.facts.memory_free >= bytes;
  });
  if (!best) return {};
  const DeviceFacts& facts = devices[static_cast<size_t>(*best)].facts;
  return fmt::format("device {0}: {1} has {2} MiB free (--device {0})", *best, facts.name, facts.memory_free >> 20);
}

std::vector<std::string> passed_over(const std::vector<InspectedDevice>& devices) {
  const auto best = best_device(devices);
  if (!best) return {};
  const auto runs_elsewhere = [&](const DeviceFacts& facts) {
    return facts.vendor_id != 0 && std::ranges::any_of(devices, [&](const InspectedDevice& other) {
             return is_usable(other) && other.facts.vendor_id == facts.vendor_id &&
                    other.facts.device_id == facts.device_id;
           });
  };
  std::vector<std::string> lines;
  for (int i = 0; i < std::ssize(devices); ++i) {
    const InspectedDevice& device = devices[static_cast<size_t>(i)];
    const InspectedDevice& taken = devices[static_cast<size_t>(*best)];
    if (is_usable(device) || runs_elsewhere(device.facts)) continue;
    if (std::pair(preference(device), i) < std::pair(preference(taken), *best))
      lines.push_back(fmt::format("device {}: {} is not used: {}", i, device.facts.name, device.unusable));
  }
  return lines;
}

}  // namespace vkformer
