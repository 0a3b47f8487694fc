#!/usr/bin/env python3
"""Runs a command at a terminal of its own and types once it has written something: in_console.py TEXT TYPED COMMAND...
Prints what it wrote without the sequences that move the cursor; ends with its status."""
import os
import pty
import re
import signal
import sys

awaited, typed, command = sys.argv[1].encode(), sys.argv[2].encode().decode("unicode_escape").encode(), sys.argv[3:]
process, terminal = pty.fork()
if process == 0:
    for number in (signal.SIGINT, signal.SIGHUP):  # which background jobs and nohup ignore
        signal.signal(number, signal.SIG_DFL)
    os.execvp(command[0], command)
written = b""
while True:
    try:
        more = os.read(terminal, 4096)
    except OSError:  # its other end is closed
        break
    if not more:
        break
    written += more
    if typed and awaited in written:
        os.write(terminal, typed)
        typed = b""
print(re.sub(rb"\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07)", b"", written).decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
