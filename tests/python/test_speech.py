import json
import os
import subprocess

import numpy as np

import vkformer
from common import Case, SCRATCH, fixture

EAR = {"model_type": "whisper", "d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 3,
       "decoder_attention_heads": 3, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "num_mel_bins": 16,
       "max_source_positions": 100, "max_target_positions": 16}


def command(*words):
    return subprocess.run([os.environ["VKFORMER"], *map(str, words)], check=True, capture_output=True, text=True).stdout


class Speech(Case):
    def test_transcribe(self):
        tones, ear, config = SCRATCH / "tones", SCRATCH / "ear", SCRATCH / "ear.json"
        config.write_text(json.dumps(EAR))
        command("data", "tones", "--out", tones, "--count", 2, "--valid", 1, "--test", 1, "--digits", 2)
        command("train", config, "--speech", tones / "train.jsonl", "--vocabulary", 1780, "--batch-tokens", 400,
                "--iterations", 1, "--out", ear)
        (recording,) = (tones / "test").glob("*.wav")
        model = vkformer.Model(ear)
        heard = model.transcribe(recording, beams=2)
        told = json.loads(command("transcribe", ear, recording, "--beams", 2, "--per-file", "--json"))
        self.assertEqual({**heard, "file": str(recording)}, told)
        self.assertEqual(model.transcribe(str(recording), beams=2), heard)
        told = json.loads(command("transcribe", ear, recording, "--beams", 2, "--per-file", "--json", "--words"))
        self.assertEqual({**model.transcribe(recording, beams=2, words=True), "file": str(recording)}, told)
        whole = model.transcribe(np.zeros(16000, np.float32), times=False, prompt="5")
        self.assertEqual(set(whole), {"text", "language", "segments"})
        self.refuse(vkformer.Error, "English alone", model.transcribe, recording, language="de")
        self.refuse(ValueError, "task is", model.transcribe, recording, task="sing")
        self.refuse(ValueError, "one channel", model.transcribe, np.zeros((2, 8)))
        self.refuse(vkformer.Error, "none.wav", model.transcribe, "none.wav")
        self.refuse(vkformer.Error, "this is a gpt2 model", fixture("gpt2").transcribe, recording)

    def test_a_model_says_what_it_is(self):
        self.assertRegex(repr(fixture("gpt2")), r"^<vkformer.Model: gpt2, \d+ parameters, context 32>$")
