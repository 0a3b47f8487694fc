# shellcheck shell=bash disable=SC2034,SC2154
# The commands that walks go through. Of each: prepare_NAME puts its files back as they were, keep_NAME keeps what it makes
# when nothing fails, same_NAME compares with that, and after_NAME, after a failure, sees that nothing is lost and goes on
# as a user would. Sourced by tests/faults/walk.sh.

commands=(train resume generate generate_ahead convert convert_to_gguf convert_from_gguf verify conform)
train="--data text.txt --batch 2 --warmup 1 --checkpoint-every 2 --evaluate-every 2 --keep-best loss --quiet"
declare -A command=(
  [train]="train model.json $train --iterations 3 --out run"
  [resume]="train --resume --out run --iterations 5 --quiet"
  [generate]="generate base -p the --temp 0 -n 3 --quiet"
  # As a GPU does: a run is under way while the one before it is waited for.
  [generate_ahead]="generate base -p t --temp 0 -n 5 --quiet --facts $fixtures/../facts/nvidia-172.json"
  [convert]="convert base new --quiet"
  [convert_to_gguf]="convert $fixtures/mistral new.gguf --weights q8_0 --quiet"
  [convert_from_gguf]="convert base.gguf new --quiet"
  [verify]="verify $fixtures/mistral"
  [conform]="conform -o multiply --quiet --report report.json"
)

for _ in $(seq 40); do echo "the quick brown fox jumps over the lazy dog"; done >text.txt
echo '{"model_type": "gpt2", "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 1, "resid_pdrop": 0.1}' >model.json
# shellcheck disable=SC2086
if ! run train model.json $train --iterations 2 --out base || ! run convert "$fixtures/mistral" base.gguf --quiet; then
  cat err
  exit 1
fi

# What a run comes to: its last checkpoint, its best one, and its metrics but for how fast it was and where it was resumed.
same_run() {
  local file checkpoint
  # What could not be removed goes with the next run.
  if leftovers; then run train --resume --out run --quiet; fi
  checkpoint=$(cat run/latest) || return 1
  for file in model.safetensors optimizer.safetensors state.json config.json; do
    cmp -s "run/$checkpoint/$file" "kept/$checkpoint/$file" || return 1
  done
  [[ $checkpoint == "$(cat kept/latest)" && $(metrics run) == "$(metrics kept)" ]] || return 1
  diff -r "run/best/$(cat run/best/latest)" "kept/best/$(cat kept/best/latest)" >/dev/null && ! leftovers
}
leftovers() { find run -name '*.tmp*' | grep -q .; }
metrics() { sed -E '/"resumed"/d; s/,"tokens_per_second":[0-9.e+]+//' "$1/metrics.jsonl"; }
keep_run() { rm -rf kept && cp -r run kept; }

prepare_train() { rm -rf run; }
keep_train() { keep_run; }
same_train() { same_run; }
after_train() {
  read -ra again <<<"${command[train]}"
  if [[ -s run/latest ]]; then again=(train --resume --out run --quiet); fi
  run "${again[@]}" && same_run
}

prepare_resume() { rm -rf run && cp -r base run; }
keep_resume() { keep_run; }
same_resume() { same_run; }
after_resume() {
  [[ -s run/latest ]] || return 1
  if [[ $(cat run/latest) == "$(cat base/latest)" ]]; then
    diff -r "run/$(cat base/latest)" "base/$(cat base/latest)" >/dev/null || return 1
  fi
  read -ra again <<<"${command[resume]}"
  run "${again[@]}" && same_run
}

# Commands that make nothing but what they print.
keep_printed() { cp out kept_out; }
same_printed() { cmp -s out kept_out; }
again_printed() {
  read -ra again <<<"${command[$1]}"
  run "${again[@]}" && same_printed
}
prepare_generate() { :; }
keep_generate() { keep_printed; }
same_generate() { same_printed; }
after_generate() { again_printed generate; }
prepare_generate_ahead() { :; }
keep_generate_ahead() { keep_printed; }
same_generate_ahead() { same_printed; }
after_generate_ahead() { again_printed generate_ahead; }
prepare_verify() { :; }
keep_verify() { keep_printed; }
same_verify() { same_printed; }
after_verify() { again_printed verify; }

# A folder or a file that is not there before: all of it or nothing.
prepare_new() { rm -rf new new.gguf; }
keep_new() { rm -rf kept_new && mv new* kept_new; }
same_new() { diff -r new* kept_new >/dev/null; }
after_new() {
  if same_new 2>/dev/null; then prepare_new; fi  # whole, but perhaps not on the disk yet
  ! compgen -G 'new*' >/dev/null || return 1
  read -ra again <<<"${command[$1]}"
  run "${again[@]}" && same_new
}
for name in convert convert_to_gguf convert_from_gguf; do
  eval "prepare_$name() { prepare_new; }; keep_$name() { keep_new; }; same_$name() { same_new; }"
  eval "after_$name() { after_new $name; }"
done

# The report tells times, too.
prepare_conform() { rm -f report.json && echo old >report.json; }
results() { sed -e '/"seconds"/d' -e '/^ \],/q' report.json; }
keep_conform() { results >kept_report; }
same_conform() { results | cmp -s - kept_report; }
after_conform() {
  read -ra again <<<"${command[conform]}"
  [[ $(cat report.json) == old || $(tail -n 1 report.json) == "}" ]] || return 1
  run "${again[@]}" && same_conform
}
