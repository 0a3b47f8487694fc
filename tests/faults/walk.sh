#!/usr/bin/env bash
# Walks: a command runs again and again, and each time another call of it fails (tests/faults/faults.h). Each walk must end
# with status 1 and one line on stderr, or do the whole work to the same bits; it loses no checkpoint and no file, leaves
# nothing allocated, and what is run after it ends in the same bits, too.
# Usage: tests/faults/walk.sh VKFORMER_FAULTS [--most N] [NAME...]     (on the Vulkan driver that the environment selects)
# --most: walks for each kind of fault, evenly spaced over its calls; 0 walks all calls. Without it: the first and the last
# call of each place, that is each chain of callers (tests/faults/places.h).
set -uo pipefail
program=$(realpath "$1")
shift
most=places
if [[ ${1:-} == --most ]]; then
  most=$2
  shift 2
fi
parts=$(realpath "$(dirname "$0")")
fixtures=$(realpath "$parts/../fixtures")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache"
leak=23
export LSAN_OPTIONS="exitcode=$leak:print_suppressions=0:suppressions=$parts/leaks.txt" ASAN_OPTIONS=exitcode=24
kinds=(host-memory device-memory device-lost disk-full io-error short-read short-write interrupted allocation)
# What is met by trying again.
declare -A retried=([short-read]=1 [short-write]=1 [interrupted]=1)
declare -A bad=([crashes]=0 [hangs]=0 ["lost states"]=0 [leaks]=0 ["unclear ends"]=0)
limit=120  # seconds, after which a command hangs
sites=0 places=0 walks=0 phase=0

# Vulkan's calls that can fail and that no walk would meet.
missed=$(nm -D --undefined-only "$program" | sed -n 's/.* U \(vk[A-Za-z0-9]*\)$/\1/p' | while read -r function; do
  grep -hs "VkResult VKAPI_CALL $function(" /usr/include/vulkan/vulkan_core.h
done)
if [[ -n $missed ]]; then
  echo "tests/faults/vulkan_calls.cpp lacks $missed"
  exit 1
fi

# run COMMAND...: with nothing that fails.
run() { LSAN_OPTIONS=detect_leaks=0 timeout -k 5 $limit "$program" "$@" >out 2>err </dev/null; }

# shellcheck source=tests/faults/commands.sh
source "$parts/commands.sh"
(($#)) || set -- "${commands[@]}"

# found KIND OF DEFECT, WHAT
found() {
  ((++bad[$1]))
  echo "FAIL ($1): VKFORMER_FAULT=$fault $name (${call:-nothing} failed): $2"
}

# A lost device is named, and so is the way on from a checkpoint. (conform and verify do so case by case, among results.)
tells_loss() {
  [[ $name != conform && $name != verify ]] || return 0
  grep -q 'device 0 (.*): vk' err || return 1
  [[ $name != train || ! -s run/latest ]] || grep -q 'go on with vkformer train --resume --out run; ' err
}

# A walk's end, by its status; `out`, `err` and `report` are the walk's.
judge() {
  local status=$1 kind=$2 line lines left rest
  call=$(sed -n 's/^failed //p' report)
  left=$(sed -n 's/^left //p' report | tr '\n' ',')
  lines=$(grep -vc '^device \|^\.\.\. ' err)  # the device, and progress on a slow machine
  line=$(grep -v '^device \|^\.\.\. ' err | head -n 3 | cut -c 1-300 | tr '\n' '|')
  case $status in
    0) "same_$name" || found "lost states" "it ended well with other results: $line" ;;
    1 | 2)  # 2: told while flags are read
      if [[ -z $call || -n ${retried[$kind]:-} ]]; then
        found "unclear ends" "trying again would have done: $line"
      elif ((lines != 1)) || [[ $line == *std::* ]]; then
        found "unclear ends" "$lines lines: $line"
      elif [[ $kind == device-lost ]] && ! tells_loss; then
        found "unclear ends" "no device, or no way on: $line"
      fi
      ;;
    "$leak") found leaks "$(grep -A 8 -E 'leak of|Error' err | head -n 12 | cut -c 1-160)" ;;
    124 | 137) found hangs "$line" ;;
    *) found crashes "status $status: $line" ;;
  esac
  # Who crashes gives nothing back.
  if ((status < 2)) && [[ -n $left ]]; then found leaks "$left"; fi
  rest=$(find cache/vkformer -type f ! -name '*.bin' -print -delete 2>/dev/null)
  if [[ -n $rest && $status -lt 100 ]]; then found leaks "files: $rest"; fi
  if ((status != 0)); then
    "after_$name" || found "lost states" "$line; what was left does not lead to the same bits: $(head -n 3 err)"
  fi
}

# chosen KIND COUNT: which calls have to fail. Few ones of each kind are spread over the command's whole course.
chosen() {
  if [[ $most == places ]]; then
    sed -n "s/^place $1 //p" calls | tr ' ' '\n' | sort -nu
    return
  fi
  local step=$((most > 0 && $2 > most ? most : $2)) i
  for ((i = 0; i < step; ++i)); do echo $((1 + (1000 * i + phase) * $2 / (1000 * step))); done
}

walk() {
  fault=nothing call=""
  local kind nth count status
  "prepare_$name"
  read -ra words <<<"${command[$name]}"
  # Twice: the first compiles, and drivers keep that.
  run "${words[@]}"
  "prepare_$name"
  if ! VKFORMER_FAULT_REPORT=counts timeout -k 5 $limit "$program" "${words[@]}" >out 2>err </dev/null; then
    found "unclear ends" "$(head -n 20 err)"
    return
  fi
  "keep_$name"
  mv counts calls
  ((places += $(grep -c '^place ' calls))) || true
  for kind in "${kinds[@]}"; do
    count=$(sed -n "s/^$kind //p" calls)
    ((sites += count, phase = (phase + 618) % 1000)) || true
    for nth in $(chosen "$kind" "$count"); do
      fault=$kind:$nth status=0
      "prepare_$name"
      rm -f report
      VKFORMER_FAULT=$fault VKFORMER_FAULT_REPORT=report timeout -k 5 $limit "$program" "${words[@]}" >out 2>err </dev/null ||
        status=$?
      [[ -e report ]] || : >report
      judge $status "$kind"
      ((++walks))
    done
  done
}

for name; do
  before=$SECONDS walked=$walks
  walk
  echo "$name: $((walks - walked)) walks, $((SECONDS - before)) s"
done
summary="$sites calls that can fail at $places places, $walks walks"
total=0
for kind in crashes hangs "lost states" leaks "unclear ends"; do
  summary+=", ${bad[$kind]} $kind"
  ((total += bad[$kind])) || true
done
echo "$summary"
((total == 0))
