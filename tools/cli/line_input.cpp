#include "tools/cli/line_input.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "models/data/lines.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/host/streams.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

namespace {

/// A read goes on after a signal; this does not. One that comes just before it waits is seen a little later.
void wait_for_some_input() {
  do interrupt_if_asked();
  while (!host::wait_for_input());
}

}  // namespace

LineInput::LineInput(std::optional<std::vector<std::string>> given) {
  if (!given && !host::input_is_file()) {
    whole_ = false;
    return;
  }
  if (!given) given = read_lines("-");
  lines_.assign(std::make_move_iterator(given->begin()), std::make_move_iterator(given->end()));
}

LineInput LineInput::of(const std::optional<std::string>& text) {
  return LineInput(text && *text != "-" ? std::optional(std::vector{*text}) : std::nullopt);
}

std::optional<std::string> LineInput::next() {
  while (lines_.empty())
    if (whole_ || !read_more()) return {};
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  ++number_;
  if (whole_) return line;
  if (number_ == 1) line.erase(0, line.size() - without_byte_order_mark(line).size());
  if (line.ends_with('\r')) line.pop_back();
  check_line(line, name_of_lines("-"), number_);
  return line;
}

/// False at the end.
bool LineInput::read_more() {
  if (ended_) return false;
  char bytes[1 << 16];
  wait_for_some_input();
  const ptrdiff_t count = host::read_input(bytes);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  check(count >= 0, "cannot read {}: {}; try again", name_of_lines("-"), std::generic_category().message(errno));
  begun_.append(bytes, static_cast<size_t>(count));
  ended_ = count == 0;
  size_t begin = 0;
  for (size_t end; (end = begun_.find('\n', begin)) != begun_.npos; begin = end + 1)
    lines_.push_back(begun_.substr(begin, end - begin));
  begun_.erase(0, begin);
  if (!ended_) return true;
  const bool first = number_ == 0 && lines_.empty();
  const std::string_view rest = first ? without_byte_order_mark(begun_) : begun_;
  check(!first || !rest.empty(), "{} is empty; give a text of one line or more", name_of_lines("-"));
  if (!rest.empty()) lines_.push_back(std::exchange(begun_, {}));
  return !lines_.empty();
}

}  // namespace vkformer
