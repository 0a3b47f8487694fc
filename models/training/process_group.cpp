#include "models/training/process_group.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>

namespace vkformer {

namespace {

/// Texts of consecutive processes, one after the other, as one.
std::string packed(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    const uint64_t size = text.size();
    all.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
  }
  return all;
}

std::vector<std::string> unpacked(const std::string& all) {
  std::vector<std::string> texts;
  uint64_t size = 0;
  for (size_t at = 0; at < all.size(); at += size) {
    std::memcpy(&size, all.data() + at, sizeof size);
    at += sizeof size;
    texts.push_back(all.substr(at, size));
  }
  return texts;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

ProcessGroup& ProcessGroup::alone() {
  static ProcessGroup group;
  return group;
}

ProcessGroup::ProcessGroup(ProcessLink& link) : link_(&link) {
  check(std::has_single_bit(static_cast<unsigned>(size())),
        "{} processes can't share a training: gradients are added in a tree of pairs; take 1, 2, 4, 8, ..", size());
}

template <class T>
void ProcessGroup::add_in_tree(std::span<T> values) {
  if (size() == 1) return;
  // Each level halves what a process is responsible for; then the finished parts come back the same way.
  std::vector<std::pair<std::span<T>, std::span<T>>> halves;  // kept, given
  received_.resize(std::max(received_.size(), (values.size() / 2 + 1) * sizeof(T)));
  for (int distance = 1; distance < size(); distance *= 2) {
    std::span<T> kept = values.first(values.size() / 2), given = values.subspan(kept.size());
    if (rank() & distance) std::swap(kept, given);
    link_->exchange(rank() ^ distance, std::as_bytes(given), std::span(received_).first(kept.size_bytes()));
    const T* addends = reinterpret_cast<const T*>(received_.data());
    for (size_t i = 0; i < kept.size(); ++i) kept[i] += addends[i];
    halves.emplace_back(kept, given);
    values = kept;
  }
  for (int distance = size() / 2; distance > 0; distance /= 2) {
    const auto [kept, given] = halves.back();
    link_->exchange(rank() ^ distance, std::as_bytes(kept), std::as_writable_bytes(given));
    halves.pop_back();
  }
}

void ProcessGroup::add(std::span<float> values) { add_in_tree(values); }
void ProcessGroup::add(std::span<double> values) { add_in_tree(values); }

std::string ProcessGroup::tell(const std::string& text) {
  std::string told = leads() ? text : std::string();
  for (int distance = 1; distance < size(); distance *= 2) {
    if (rank() < distance)
      exchange_text(rank() + distance, told);
    else if (rank() < 2 * distance)
      told = exchange_text(rank() - distance, {});
  }
  return told;
}

std::string ProcessGroup::exchange_text(int other, const std::string& text) {
  const uint64_t length = text.size();
  uint64_t others = 0;
  link_->exchange(other, std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(&others, 1)));
  std::string received(others, '\0');
  link_->exchange(other, bytes_of(text), std::as_writable_bytes(std::span(received)));
  return received;
}

std::vector<std::string> ProcessGroup::gather(const std::vector<std::string>& texts) {
  std::string all = packed(texts);
  for (int distance = 1; distance < size(); distance *= 2) {
    const std::string others = exchange_text(rank() ^ distance, all);
    all = rank() & distance ? others + all : all + others;
  }
  return unpacked(all);
}

void ProcessGroup::together(const std::function<void()>& part) {
  if (size() == 1) return part();
  std::exception_ptr thrown;
  std::vector<std::string> messages;
  try {
    part();
  } catch (const std::exception& error) {
    thrown = std::current_exception();
    messages = {fmt::format("process {}: {}", rank(), error.what())};
  } catch (...) {
    thrown = std::current_exception();
    messages = {fmt::format("process {}: it was stopped", rank())};
  }
  messages = gather(messages);
  if (thrown) std::rethrow_exception(thrown);
  if (!messages.empty()) throw OtherProcessStopped(messages.front());
}

}  // namespace vkformer
