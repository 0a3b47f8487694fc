#!/usr/bin/env bash
# The pages that vkformer writes, opened in a browser: no error, no request, and what they must show.
# Usage: tests/pages.sh VKFORMER     (on the Vulkan driver that the environment selects)
#        tests/pages.sh --browser    names the browser that this takes; status 1: there is none
browser=$(command -v chromium || command -v chromium-headless-shell || command -v google-chrome) || {
  echo "$0: needs chromium" >&2
  exit 1
}
if [[ $1 == --browser ]]; then
  echo "$browser"
  exit
fi
# shellcheck source=tests/command_line/common.sh
source "$(dirname "$0")/command_line/common.sh" "$1"

# browse FILE [#ADDRESS] [SCRIPT]: the page's elements after its scripts and then SCRIPT ran go to `dom`.
browse() {
  local page=$1 address=${2:-} script=${3:-}
  sed "s|</body>||; s|</html>||" "$page" >tried.html
  printf '<script>%s</script></body></html>\n' "$script" >>tried.html
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" --window-size=1300,900 \
    --virtual-time-budget="${budget:-5000}" --enable-logging=stderr --dump-dom "file://$folder/tried.html$address" >dom 2>log ||
    fail "$page: the browser ended with status $?"
  grep -q CONSOLE log && fail "$page: $(grep CONSOLE log)"
  [[ ${asks:-} ]] && return
  grep -q "https\?://" <(sed 's|http://www.w3.org/2000/svg||g' "$page") && fail "$page names an address: $(grep -o 'https\?://[^"]*' "$page" | sort -u)"
}
# has COUNT PATTERN: so many matches in the elements.
has() {
  local got
  got=$(grep -o -- "$2" dom | wc -l)
  [[ $got == "$1" ]] || fail "$page: $got instead of $1 times '$2'"
}

# The browser tells of errors at all.
page=broken
echo '<html><body></body></html>' >broken.html
(browse broken.html "" "nothing.there" >found)
grep -q "nothing is not defined" found || fail "errors in a page go unseen"

"$vkformer" data numbers en de --to 99 --out numbers >/dev/null || fail "no numbers"
cat >translator.json <<'JSON'
{"model_type": "marian", "d_model": 16, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 2,
 "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 48,
 "activation_function": "relu", "vocab_size": 100, "decoder_vocab_size": 100, "pad_token_id": 0, "eos_token_id": 1,
 "decoder_start_token_id": 0, "share_encoder_decoder_embeddings": true, "scale_embedding": true}
JSON
pieces=$(for c in {a..z} ä ö ü ß; do echo "$c ##$c"; done; echo -)
{
  echo '{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": null, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true}, "model": {"type": "WordPiece",
    "unk_token": "<unk>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {'
  id=3
  for piece in $pieces; do echo "\"$piece\": $((id++)),"; done
  echo '"<pad>": 0, "</s>": 1, "<unk>": 2}}}'
} >tokenizer.json
"$vkformer" train translator.json --pairs numbers/train.en numbers/train.de --valid numbers/valid.en numbers/valid.de \
  --tokenizer . --out run --batch-tokens 128 --iterations 8 --warmup 2 --evaluate-every 2 --checkpoint-every 4 --quiet \
  >/dev/null || fail "no run"
"$vkformer" train --resume --out run --iterations 12 --quiet >/dev/null || fail "the run does not go on"

# --- a profile ---
page=profile.html
"$vkformer" bench -m 12x48x3:64:32 --batch 2 --prompt 8 --tokens 4 --repetitions 3 --profile $page >/dev/null 2>&1 || fail "no profile"
(($(stat -c %s $page) < 5000000)) || fail "$page has $(stat -c %s $page) bytes"
browse $page "" "
  const step = programs.findIndex(({name}) => name === 'training: step');
  document.body.dispatchEvent(new KeyboardEvent('keydown', {key: String(step + 1), bubbles: true}));
  document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}));
  const told = (list) => [...document.querySelectorAll(list)].reduce((total, {dataset}) => total + Number(dataset.us), 0);
  const timed = sum(programs[step].dispatches.us), near = (a) => Math.abs(a - timed) < 1e-6 * timed + 0.01;
  document.body.append(near(told('#kernels tr[data-us]')) ? ' table right' : ' table wrong',
    near(told('#legend span')) ? ' bars right' : ' bars wrong', ' layers ' + document.querySelectorAll('.layer').length);"
has 1 'table right bars right layers 16'
has 1 'aria-pressed="true">training: step'
dots=$(grep -o '<circle class="kernel"' dom | wc -l)
((dots > 10)) || fail "$page: $dots kernels in the roofline"

# --- a conformance ---
page=conform.html
for report in $page conform.json; do
  "$vkformer" conform --op softmax --pattern '130|7' --quiet --report $report >/dev/null 2>&1 || fail "no report"
done
checks=$(grep -o '"verdict":"OK"\|"verdict": "OK"' conform.json | wc -l)
browse $page "" "
  document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}));
  document.body.append(' passed ' + document.querySelector('[data-tile=passed]').textContent, ' listed ' + document.querySelectorAll('tr.case').length);
  find('filter').value = 'nothing has this name'; draw();
  document.body.append(' filtered ' + document.querySelectorAll('tr.op').length);"
has 1 " passed $checks listed $checks filtered 0"

# --- the run ---
page=run/run.html
browse $page
has 1 'data-curves="loss validation_loss"'
for curve in loss validation_loss perplexity bleu chrf exact_match learning_rate gradient_norm tokens_per_second; do
  has 1 "class=\"curve\" data-name=\"$curve\""
done
has 7 '<line class="resumed"'
has 3 '<tr class="\(right\|wrong\)"'
has 1 '<dt>resumed at</dt><dd>8</dd>'
has 1 '<dt>warmup</dt><dd>2</dd>'
has 0 '<dt>\(batch\|lora\)</dt>'
has 1 '<b>12 / 12</b>'
# Hover: the values of iteration 8, as metrics.jsonl has them.
browse $page "" "look_at(8); document.body.append(find('about').textContent, ' loss ', curves.loss.values[7]);"
has 1 'iteration 8 '
loss=$(grep '"iteration":8,' run/metrics.jsonl | grep -o '"loss":[0-9.e-]*' | cut -d: -f2)
has 1 "loss ${loss:0:12}"

# Which way is better, whatever a job's scores are; and a chart of zeros.
page=odd/run.html
cp -r run odd
for row in '1,"rows":7,"bits_per_byte":1.5,"wer":1.25,"f1":0' '2,"bits_per_byte":1.75,"wer":1.5,"f1":0'; do
  echo "{\"iteration\":$row}"
done >>odd/metrics.jsonl
"$vkformer" train --resume --out odd --iterations 13 --score-lines 0 --quiet >/dev/null || fail "the run does not go on"
browse $page "" "document.body.append(' zeros ' + [...document.querySelectorAll('[data-curves*=f1] .tick-y')].map((tick) => tick.textContent));"
has 1 'zeros 0,0.2,0.4,0.6,0.8,1'
has 1 '>loss (nats)<'
has 0 '>rows<'
has 1 'bits per byte; best 1.5 at 1<'
has 1 'word error rate; best 1.25 at 1<'
# --- attention of a translator ---
page=attention.html
"$vkformer" attention run -p "twenty-one" --target "einundzwanzig" --out $page --quiet || fail "no attention page"
browse $page
has 4 'class="cell\( chosen\)\?" data-layer="[01]" data-head="[01]"'
has 6 'class="cell\( chosen\)\?"'
browse $page '#cross/2/1/one'
rows=$(grep -o 'data-rows="[0-9]*"' dom | tr -dc 0-9)
columns=$(grep -o 'data-columns="[0-9]*"' dom | tr -dc 0-9)
has "$rows" 'class="label row"'
has "$columns" 'class="label column"'
has "$rows" '<text [^>]*class="left"'
has "$columns" '<text [^>]*class="right"'
has 1 '<h2 id="map-title">cross, layer 2, head 1</h2>'
# Keys; what a pointer shows; rows that sum to 1, and nothing ahead in the decoder.
browse $page '#decoder/0/0/one' "
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  press('ArrowDown'); press('ArrowRight');
  const kind = kind_of(), n = kind.rows.length, w = weights(state.kind, 1, 1);
  let worst = 0, ahead = 0;
  for (let t = 0; t < n; ++t) {
    let sum = 0;
    for (let s = 0; s < n; ++s) { sum += w[t * n + s]; if (s > t) ahead += w[t * n + s]; }
    worst = Math.max(worst, Math.abs(sum - 1));
  }
  const box = find('heat').getBoundingClientRect();
  find('heat').dispatchEvent(new MouseEvent('mousemove', {clientX: box.left + 2, clientY: box.top + 2}));
  document.body.append('at ' + location.hash, worst < 0.0005 * n ? ' sums right' : ' sums wrong ' + worst, ' ahead ' + ahead,
    ' tip ' + find('tip').textContent.split('\\\\n')[0]);
  press('k'); press('Escape'); document.body.append(' then ' + location.hash);"
has 1 'at #decoder/1/1/one sums right ahead 0 tip 1.000'
has 1 'then #cross/1/1/all'

# --- other families: a decoder, its greatest page; an encoder with a pair of texts ---
for i in $(seq 40); do echo "line $i: the quick brown fox jumps over the lazy dog"; done >text.txt
echo '{"model_type": "gpt2", "n_positions": 128, "n_embd": 48, "n_layer": 12, "n_head": 12}' >gpt.json
"$vkformer" train gpt.json --data text.txt --iterations 1 --warmup 1 --batch 1 --out gpt --quiet >/dev/null || fail "no GPT"
page=large.html
"$vkformer" attention gpt -p "$(head -c 128 text.txt)" --out $page --quiet || fail "no page of a GPT"
(($(stat -c %s $page) < 5000000)) || fail "$page has $(stat -c %s $page) bytes"
browse $page
has 156 'class="cell\( chosen\)\?"'

cp -r "$fixtures/bert_mlm" bert
cat >bert/tokenizer.json <<'JSON'
{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "BertPreTokenizer"},
 "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
 "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
 "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
           "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4, "<b": 5, "cat": 6, "##s": 7, "<": 8, "b": 9}}}
JSON
page=bert.html
"$vkformer" attention bert -p "a <b" --target "cats" --out $page --quiet || fail "no page of BERT"
browse $page '#encoder/0/0/one'
has 8 'class="label row"'
has 1 'class="label row"[^>]*>##s<'
has 1 'class="label row"[^>]*>&lt;<'

# --- the servers' pages, which ask as pages of another origin here ---
# serve MODEL FLAG...: a server, whose address goes to `url`, and its page as `asking.html`.
serve() {
  coproc SERVER { exec "$vkformer" serve "$@" --port 0 --allow-origin null --quiet; }
  server=$SERVER_PID
  read -r url <&"${SERVER[0]}" || fail "no server"
  exec {client}<>"/dev/tcp/127.0.0.1/${url##*:}"
  printf 'GET / HTTP/1.0\r\nHost: localhost\r\n\r\n' >&"$client"
  sed '1,/^\r$/d' <&"$client" >served.html
  exec {client}>&-
  page=served.html
  grep -q "https\?://" $page && fail "$page names an address"
  sed "s#fetch(\"\(v1\|props\)#fetch(\"$url/\1#" $page >asking.html
}
stop() {
  kill "$server"
  wait "$server" || fail "the server ended with status $?"
}
for _ in $(seq 20); do echo "the quick brown fox jumps over the lazy dog"; done >text.txt
echo '{"model_type": "gpt2", "n_positions": 64, "n_embd": 24, "n_layer": 1, "n_head": 3}' >gpt.json
"$vkformer" train gpt.json --data text.txt --context 16 --set n_positions=64 --iterations 1 --batch 1 --warmup 1 --out words --quiet >/dev/null || fail "no GPT"
echo '{% for m in messages %}{{ m.content }} {% endfor %}' >talk.jinja
serve words --template talk.jinja
# While nothing but an answer is on its way the browser's time runs ahead of the server's; a request for each 50 ms of it holds
# it back.
page=asking.html asks=yes budget=6000000
browse asking.html "" "(async () => {
  find('max_tokens').value = 5;
  for (const question of ['the quick', 'fox'.repeat(40)]) {
    find('question').value = question;
    find('form').requestSubmit();
    while (running) {
      await fetch('$url/health');
      await new Promise((later) => setTimeout(later, 50));
    }
    if (question === 'the quick') {
      document.querySelector('.again').click();
      while (running) {
        await fetch('$url/health');
        await new Promise((later) => setTimeout(later, 50));
      }
      document.body.append(' answers: ' + document.querySelectorAll('article.assistant').length);
    }
  }
  const text = ['# T', '', '1. **b** <i>x</i>', '   - c', '', '\`\`\`', 'a<b', '\`\`\`', '|p|q|', '|-|-|', '|\`r\`|s|', '> u'].join('\n');
  document.body.append(...markdown_of(text));
})();"
stop
has 1 'answers: 1'
has 1 '<h3>T</h3>'
has 1 '<ol start="1"><li><strong>b</strong> &lt;i&gt;x&lt;/i&gt;<ul><li>c</li></ul></li></ol>'
has 1 '<pre><code>a&lt;b</code></pre>'
has 1 '<td><code>r</code></td><td>s</td>'
has 1 '<blockquote><p>u</p></blockquote>'
has 1 '<h1 id="model">words<'
has 1 '5 tokens, '
has 1 'card assistant error'
has 1 'the context 64 positions'

# Pictures for a model that sees: one, and a file that is none, which is there to be asked again.
serve "$fixtures/../seeing/llava" --temp 0 -n 4
browse asking.html "" "(async () => {
  const wait = async (busy) => {
    for (let i = 0; i < 400 && busy(); ++i) {
      await fetch('$url/health');
      await new Promise((later) => setTimeout(later, 50));
    }
  };
  await wait(() => find('attach').hidden);
  const picture = await (await fetch('data:image/png;base64,$(base64 -w 0 "$fixtures/../seeing/llava/first.png")')).blob();
  for (const file of [new File([picture], 'first.png'), new File(['none'], 'bad.png')]) {
    await take_files([file]);
    find('question').value = 'What is it?';
    find('form').requestSubmit();
    await wait(() => running);
  }
  document.body.append(' asked again: ' + find('question').value);
})();"
stop
has 1 'prompt of 46, '
has 1 'it is no JPEG'
has 1 '<article class="card user"><img alt="first.png"'
has 1 'aria-label="Remove bad.png"'
has 1 'asked again: What is it?'

make_ear
serve ear --beams 1
browse asking.html "" "(async () => {
  const sound = await (await fetch('data:audio/wav;base64,$(base64 -w 0 tones/train/000001.wav)')).blob();
  for (const file of [sound, new Blob(['none'])]) {
    ask(file);
    while (running) {
      await fetch('$url/health');
      await new Promise((later) => setTimeout(later, 50));
    }
    document.body.append(find('note').textContent);
  }
})();"
stop
has 1 '<h1 id="model">ear<'
has 1 'of sound, language en'
has 2 'it is no audio'

echo "$failures failures"
((failures == 0))
