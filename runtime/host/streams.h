#pragma once
// Standard streams. Bytes go through them as they are.

#include <cstddef>
#include <cstdint>
#include <span>

namespace vkformer::host {

enum class Stream : uint8_t { input, output, messages };  ///< stdin, stdout, stderr

/// Before anything else is opened: a standard stream that is closed gets a descriptor nobody can write to, so that no
/// file takes its place; a reader that went away or a file that grew too large is an error, not a signal; and a
/// terminal shows UTF-8 and obeys escape sequences.
void prepare_streams();

bool is_terminal(Stream stream);

/// Whether stdin is a regular file.
bool input_is_file();
/// Waits until stdin has something or has ended. False where a moment passed without.
bool wait_for_input();
/// Waits for some of stdin's bytes and gives their number: 0 at its end, -1 where it can't be read. Then errno is EINTR
/// where a signal came meanwhile.
ptrdiff_t read_input(std::span<char> bytes);

/// Whether this errno of writing to stdout says that nobody reads it any more.
bool reader_left(int error);

}  // namespace vkformer::host
