#!/usr/bin/env python3
"""Records what the formulas of openai-whisper (whisper/timing.py, and the splitting of whisper/tokenizer.py) make of
weights, words and times that are drawn here. It needs nothing but Python.

  make_word_times.py --out FILE       writes it
  make_word_times.py --check FILE     fails if what is recorded differs

`tests/word_times_test.cpp` compares. Weights are rounded to 1e-4 first; of words the file has the bytes of their tokens
in hexadecimal digits, for a token may end within a character.
"""

import argparse
import json
import math
import pathlib
import random
import string
import sys

PREPEND = "\"'“¿([{-"
APPEND = "\"'.。,，!！?？:：”)]}、"
SENTENCE_ENDS = ".。!！?？"


def softmax_of(weights, seen):
    """Weights are a softmax over all positions: over the first ones it is their share."""
    total = sum(weights[:seen])
    return [w / total for w in weights[:seen]]


def median_filter(row, width=7):
    half = width // 2
    if len(row) <= half:
        return row
    padded = row[half:0:-1] + row + row[-2:-half - 2:-1]
    return [sorted(padded[i:i + width])[half] for i in range(len(row))]


def matrix_of(heads, first, count, seen):
    result = [[0.0] * seen for _ in range(count)]
    for head in heads:
        rows = [softmax_of(row, seen) for row in head]
        for i in range(seen):
            column = [row[i] for row in rows]
            mean = sum(column) / len(column)
            deviation = math.sqrt(sum((x - mean) ** 2 for x in column) / len(column))
            for row in rows:
                row[i] = (row[i] - mean) / deviation
        for k in range(count):
            for i, value in enumerate(median_filter(rows[first + k])):
                result[k][i] += value / len(heads)
    return result


def dtw(x):
    """Of costs: the path, as two lists of indices."""
    n, m = len(x), len(x[0])
    cost = [[math.inf] * (m + 1) for _ in range(n + 1)]
    trace = [[-1] * (m + 1) for _ in range(n + 1)]
    cost[0][0] = 0
    for j in range(1, m + 1):
        for i in range(1, n + 1):
            c0, c1, c2 = cost[i - 1][j - 1], cost[i - 1][j], cost[i][j - 1]
            if c0 < c1 and c0 < c2:
                c, t = c0, 0
            elif c1 < c0 and c1 < c2:
                c, t = c1, 1
            else:
                c, t = c2, 2
            cost[i][j], trace[i][j] = x[i - 1][j - 1] + c, t
    i, j, path = n, m, []
    for column in range(m + 1):
        trace[0][column] = 2
    for row in trace:
        row[0] = 1
    while i > 0 or j > 0:
        path.append((i - 1, j - 1))
        t = trace[i][j]
        i, j = i - (t != 2), j - (t != 1)
    path.reverse()
    return [p[0] for p in path], [p[1] for p in path]


def begins_of(matrix):
    text, time = dtw([[-value for value in row] for row in matrix])
    return [time[i] for i in range(len(text)) if i == 0 or text[i] != text[i - 1]]


def split_on_unicode(tokens):
    whole = b"".join(tokens).decode("utf-8", errors="replace")
    words, current, offset = [], [], 0
    for token in tokens:
        current.append(token)
        decoded = b"".join(current).decode("utf-8", errors="replace")
        if "\ufffd" not in decoded or whole[offset + decoded.index("\ufffd")] == "\ufffd":
            words.append((decoded, len(current)))
            current, offset = [], offset + len(decoded)
    return words


def split_on_spaces(tokens):
    words = []
    for word, count in split_on_unicode(tokens):
        if not words or word.startswith(" ") or word.strip() in string.punctuation:
            words.append((word, count))
        else:
            words[-1] = (words[-1][0] + word, words[-1][1] + count)
    return words


def timed(words, begins, probabilities):
    result, at = [], 0
    for text, count in words:
        own = probabilities[at:at + count]
        result.append({"word": text, "tokens": count, "start": begins[at], "end": begins[at + count],
                       "probability": sum(own) / count})
        at += count
    return result


def merge(alignment):
    i, j = len(alignment) - 2, len(alignment) - 1
    while i >= 0:
        previous, following = alignment[i], alignment[j]
        if previous["word"].startswith(" ") and previous["word"].strip() in PREPEND:
            following["word"] = previous["word"] + following["word"]
            following["tokens"] += previous["tokens"]
            previous["word"], previous["tokens"] = "", 0
        else:
            j = i
        i -= 1
    i, j = 0, 1
    while j < len(alignment):
        previous, following = alignment[i], alignment[j]
        if not previous["word"].endswith(" ") and following["word"] in APPEND:
            previous["word"] = previous["word"] + following["word"]
            previous["tokens"] += following["tokens"]
            following["word"], following["tokens"] = "", 0
        else:
            i = j
        j += 1


def finished(alignment):
    """The alignment of a window as add_word_timestamps changes it, and the median duration."""
    durations = sorted(t["end"] - t["start"] for t in alignment if t["end"] != t["start"])
    middle = len(durations) // 2
    median = 0.0
    if durations:
        median = durations[middle] if len(durations) % 2 else (durations[middle - 1] + durations[middle]) / 2
    median = min(0.7, median)
    longest = 2 * median
    for i in range(1, len(alignment) if durations else 0):
        if alignment[i]["end"] - alignment[i]["start"] > longest:
            if alignment[i]["word"] in SENTENCE_ENDS:
                alignment[i]["end"] = alignment[i]["start"] + longest
            elif alignment[i - 1]["word"] in SENTENCE_ENDS:
                alignment[i]["start"] = alignment[i]["end"] - longest
    merge(alignment)
    return median


def add_to_segments(segments, alignment, offset, median, spoken):
    longest, index = 2 * median, 0
    for segment in segments:
        saved, words = 0, []
        while index < len(alignment) and saved < segment["tokens"]:
            timing = alignment[index]
            if timing["word"]:
                words.append({"word": timing["word"].strip(), "start": offset + timing["start"],
                              "end": offset + timing["end"]})
            saved += timing["tokens"]
            index += 1
        if words:
            first, last = words[0], words[-1]
            second = words[1] if len(words) > 1 else None
            if first["end"] - spoken > median * 4 and (
                    first["end"] - first["start"] > longest
                    or (second and second["end"] - first["start"] > longest * 2)):
                if second and second["end"] - second["start"] > longest:
                    first["end"] = second["start"] = max(second["end"] / 2, second["end"] - longest)
                first["start"] = max(0, first["end"] - longest)
            if segment["start"] < first["end"] and segment["start"] - 0.5 > first["start"]:
                first["start"] = max(0, min(first["end"] - median, segment["start"]))
            else:
                segment["start"] = first["start"]
            if segment["end"] > last["start"] and segment["end"] + 0.5 < last["end"]:
                last["end"] = max(last["start"] + median, segment["end"])
            else:
                segment["end"] = last["end"]
            spoken = segment["end"]
        segment["words"] = words
    return spoken


def draw_heads(draw, tokens, positions):
    """Each of two heads follows the diagonal more or less."""
    heads = []
    for sharpness in (3, 1):
        rows = []
        for token in range(tokens):
            middle = positions * (token + 0.5) / tokens * 0.8
            values = [math.exp(sharpness * math.exp(-((i - middle) / 3) ** 2) + draw.random()) for i in range(positions)]
            rows.append([round(value / sum(values), 4) for value in values])
        heads.append(rows)
    return heads


TEXTS = [
    # Tokens as they are, then what Whisper's vocabulary would make of bytes of a character.
    [b" Hello", b",", b" wor", b"ld", b"!", b" \"", b"How", b" are", b" you", b"?\"", b" he", b" asked", b"."],
    [b"-", b"No", b" (", b"not", b" at", b" all", b")", b".", b" It", b"'", b"s", b" 3", b".", b"5", b" %", b" "],
    [" caf".encode(), b"\xc3", b"\xa9", " – ".encode(), b" na", b"\xc3\xaf", b"ve", b" \xe2\x80", b"\x9c", b"yes", b"\xe2\x80\x9d"],
    [b"\xe4\xbd", b"\xa0", "好".encode(), "，".encode(), b"\xe4\xb8\x96\xe7\x95", b"\x8c", "。".encode()],
    [b" broken", b"\xff", b" one", b"\xe4\xbd"],
]


def record():
    draw = random.Random(7)
    alignments = []
    for tokens, positions, seen in ((9, 40, 33), (6, 12, 12), (5, 9, 3)):
        heads = draw_heads(draw, tokens, positions)
        matrix = matrix_of(heads, 3, tokens - 4, seen)
        alignments.append({"heads": heads, "first": 3, "seen": seen, "matrix": matrix, "begins": begins_of(matrix)})
    splits = [{"tokens": [token.hex() for token in text], "spaces": split_on_spaces(text),
               "characters": split_on_unicode(text)} for text in TEXTS]
    windows = []
    for number in range(24):
        text = TEXTS[number % 4]
        words = split_on_unicode(text) if number % 8 == 3 else split_on_spaces(text)
        # Words of unlike lengths, some of none, after a pause of up to three seconds.
        begins = [round(3 * draw.random() * (number % 3 > 0), 2)]
        for _ in text:
            length = draw.choice((0, 0.02, 0.1, 0.2, 0.3, 0.3, 1.5))
            begins.append(round(begins[-1] + length, 2))
        probabilities = [round(draw.random(), 3) for _ in text]
        alignment = timed(words, begins, probabilities)
        median = finished(alignment)
        cut = draw.randrange(1, len(text)) if number % 2 else len(text)
        segments = [{"start": round(begins[0] + draw.choice((0, 0.4, 0.8)), 2), "end": round(begins[cut] - draw.choice((0, 0.2, 0.9)), 2),
                     "tokens": cut}]
        if cut < len(text):
            segments.append({"start": begins[cut], "end": round(begins[-1] + draw.random(), 2), "tokens": len(text) - cut})
        given = [dict(segment) for segment in segments]
        offset, spoken = (30.0, 28.0) if number % 4 < 2 else (0.0, 0.0)
        for segment in segments + given if offset else ():
            segment["start"] += offset
            segment["end"] += offset
        last = add_to_segments(segments, alignment, offset, median, spoken)
        windows.append({"text": number % 4, "by_characters": number % 8 == 3, "begins": begins, "probabilities": probabilities,
                        "median": median, "alignment": alignment, "offset": offset, "spoken": spoken,
                        "given": given, "segments": segments, "last": last})
    return {"alignments": alignments, "splits": splits, "windows": windows}


def rounded(value):
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, (list, tuple)) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    flags = parser.parse_args()
    text = json.dumps(rounded(record()), ensure_ascii=False, separators=(",", ":")) + "\n"
    if flags.out:
        flags.out.write_text(text, encoding="utf-8")
    if flags.check and flags.check.read_text(encoding="utf-8") != text:
        sys.exit(f"{flags.check} has other numbers")


if __name__ == "__main__":
    main()
