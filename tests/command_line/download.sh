# shellcheck shell=bash disable=SC2154
# Models from a hub: what is taken of them, into a cache as huggingface_hub has it, and what goes wrong on the way.
# Sourced by tests/command_line.sh.

if "$vkformer" download owner/name 2>&1 | grep -q "this build downloads nothing"; then
  echo "skipped: downloads, for want of libcurl or OpenSSL"
  return
fi
mkdir -p hub/owner/{whole,gguf/BF16,gated,nothing} hub/cut/model hub/false/model hub/owner/ranges hub/slow/model
cp "$fixtures"/gpt2/{config.json,generation_config.json,model.safetensors} hub/owner/whole
mkdir hub/owner/whole/{1_Pooling,onnx}
echo "{}" >hub/owner/whole/1_Pooling/config.json
for other in README.md consolidated.safetensors model.fp32-00001-of-00002.safetensors onnx/model.onnx; do echo "$other" >"hub/owner/whole/$other"; done
accept "$vkformer" convert "$fixtures/gpt2" hub/owner/gguf/tiny-Q8_0.gguf --dtype q8_0 --quiet
accept "$vkformer" convert "$fixtures/gpt2" hub/owner/gguf/tiny.Q4_K_M.gguf --dtype q4_k_m --quiet
cp hub/owner/gguf/tiny-Q8_0.gguf hub/owner/gguf/BF16/tiny-BF16.gguf
echo "no weights" >hub/owner/nothing/README.md
for model in cut/model false/model owner/gated owner/ranges slow/model; do cp hub/owner/whole/*.json hub/owner/whole/model.safetensors hub/$model; done
echo secret >hub/owner/gated/gated
: >hub/owner/ranges/norange

coproc HUB { exec python3 "$parts_folder/hub.py" hub 2>hub.log; }
hub=$HUB_PID
read -r HF_ENDPOINT <&"${HUB[0]}" || fail "no hub: $(cat hub.log)"
export HF_ENDPOINT HF_HOME=$PWD/cache
get=("$vkformer" download)
kept() { echo "cache/hub/models--$1/snapshots/0123456789abcdef0123456789abcdef01234567"; }

# What is read of a model and nothing else, by its name from then on.
refuse 1 "there is no 'owner/whole'; give .*, or get it first: vkformer download owner/whole$" "$vkformer" info owner/whole
accept "${get[@]}" owner/whole --dry-run
[[ $(wc -l <out) == 4 && ! -e cache ]] || fail "what would be downloaded: $(cat out)"
accept "${get[@]}" owner/whole
whole=$(kept owner--whole)
[[ $(cat out) == "$PWD/$whole" ]] || fail "not where it is: $(cat out)"
[[ $(cd "$whole" && echo *) == "1_Pooling config.json generation_config.json model.safetensors" ]] || fail "downloaded: $(ls "$whole")"
for file in config.json model.safetensors 1_Pooling/config.json; do
  cmp "$whole/$file" "hub/owner/whole/$file" || fail "$file was changed on its way"
  [[ -L $whole/$file ]] || fail "$file is no link to its content"
done
[[ -e cache/hub/models--owner--whole/blobs/$(sha256sum <"$whole/model.safetensors" | cut -d' ' -f1) ]] || fail "large content has another name: $(ls cache/hub/models--owner--whole/blobs)"
mkdir owner  # a folder called so hides nothing
accept "$vkformer" info owner/whole --json
rmdir owner
mv cache/hub/models--owner--whole/refs/main main  # as after a download of another branch alone
accept "$vkformer" info owner/whole --json
echo -n .. >cache/hub/models--owner--whole/refs/main
refuse 1 "names a snapshot that is not there" "$vkformer" info owner/whole
mv main cache/hub/models--owner--whole/refs/main
: >hub.log
accept "${get[@]}" owner/whole --quiet
[[ $(grep -c GET hub.log) == 1 ]] || fail "what is there was asked for again: $(cat hub.log)"
accept "${get[@]}" owner/whole --all --revision small
[[ -e $whole/onnx/model.onnx && $(cat cache/hub/models--owner--whole/refs/small) == $(basename "$whole") ]] || fail "--all: $(ls "$whole")"

# GGUF files by their type, and Q4_K_M without one.
accept "${get[@]}" owner/gguf
accept "${get[@]}" owner/gguf:q8_0
[[ $(cd "$(kept owner--gguf)" && echo *) == "tiny-Q8_0.gguf tiny.Q4_K_M.gguf" ]] || fail "GGUF files: $(ls "$(kept owner--gguf)")"
accept "$vkformer" info owner/gguf:Q8_0
grep -q "tiny-Q8_0.gguf" out || fail "another file for :Q8_0: $(cat out)"
accept "$vkformer" info owner/gguf
grep -q "tiny.Q4_K_M.gguf" out || fail "another file without a type: $(cat out)"
refuse 1 "owner/gguf: no GGUF file is Q2_K; there are BF16/tiny-BF16.gguf, tiny-Q8_0.gguf, tiny.Q4_K_M.gguf$" "${get[@]}" owner/gguf:Q2_K
refuse 1 "owner/gguf, downloaded: no GGUF file is BF16; there are" "$vkformer" info owner/gguf:BF16

# Cut in the middle: goes on there. Kept halves go on, too, also where the server sends all of it again.
accept "${get[@]}" cut/model
cmp "$(kept cut--model)/model.safetensors" "$fixtures/gpt2/model.safetensors" || fail "a cut file was put together wrongly"
grep -q '" 206 ' hub.log || fail "a cut file was not gone on with: $(cat hub.log)"
id=$(sha256sum <"$fixtures/gpt2/model.safetensors" | cut -d' ' -f1)
mkdir -p cache/hub/models--owner--ranges/blobs
head -c 5000 "$fixtures/gpt2/model.safetensors" >"cache/hub/models--owner--ranges/blobs/$id.incomplete"
accept "${get[@]}" owner/ranges
cmp "$(kept owner--ranges)/model.safetensors" "$fixtures/gpt2/model.safetensors" || fail "a server without ranges made another file"

# Ctrl-C leaves what has come for the next time.
"${get[@]}" slow/model >out 2>err &
read -r -t 60 -u "${HUB[0]}" || fail "nothing comes: $(cat err)"
part=cache/hub/models--slow--model/blobs/$id.incomplete
until [[ -s $part ]] || ! kill -0 $!; do :; done  # sent is not yet received
before=$(stat -c %s "$part")
kill -INT $!
status=0
wait $! || status=$?
((status == 1)) && grep -q "ended by signal 2; what has come stays; give the same command again to go on$" err || fail "status $status after Ctrl-C: $(cat err)"
left=$(stat -c %s "$part")
((before > 0 && left >= before)) && cmp -n "$left" "$part" "$fixtures/gpt2/model.safetensors" ||
  fail "Ctrl-C lost what had come: $before, then $left bytes"
[[ ! -e cache/hub/models--slow--model/refs ]] || fail "half a model has a name"

# What is refused leaves no model behind.
refuse 1 "false/model, model.safetensors: what came is not what the hub lists; it was removed, try again$" "${get[@]}" false/model --quiet
[[ ! -e $(kept false--model)/model.safetensors && ! -e cache/hub/models--false--model/refs ]] || fail "false content is a model"
refuse 1 "owner/gated: the hub replies 401; its owner asks for consent" "${get[@]}" owner/gated
HF_TOKEN=secret accept "${get[@]}" owner/gated
cmp "$(kept owner--gated)/model.safetensors" "$fixtures/gpt2/model.safetensors" || fail "a gated model differs"
refuse 1 "owner/none: the hub replies 401; there is no such model, or it is private" "${get[@]}" owner/none
refuse 1 "owner/whole, v9: the hub replies 404; it has no such revision$" "${get[@]}" owner/whole --revision v9
refuse 1 "owner/nothing: it has neither safetensors, nor pytorch_model.bin, nor GGUF files$" "${get[@]}" owner/nothing
refuse 1 "owner/whole: it has no GGUF files; leave out ':Q8_0'$" "${get[@]}" owner/whole:Q8_0
refuse 2 "'whole' is no OWNER/NAME" "${get[@]}" whole
refuse 2 "--revision ../../x: no branch" "${get[@]}" owner/whole --revision ../../x
HF_HUB_OFFLINE=1 refuse 1 "HF_HUB_OFFLINE is set" "${get[@]}" owner/whole
kill "$hub"
wait "$hub" 2>/dev/null
refuse 1 "${HF_ENDPOINT#http://}.*onnect" "${get[@]}" owner/whole
unset HF_ENDPOINT HF_HOME
