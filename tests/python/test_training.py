import json
import os
import subprocess

import numpy as np

import vkformer
from common import FIXTURES, SCRATCH, SMALL_GPT, TESTS, Case, safetensors, small_batch, small_trainer


class Training(Case):
    def test_losses_are_those_recorded_of_pytorch(self):
        names = {"ids": "input_ids", "mask": "attention_mask", "targets": "targets"}
        batches = safetensors(TESTS / "trainings" / "bert_cls.batches.safetensors")
        recorded = json.loads((TESTS / "trainings" / "bert_cls.json").read_text())
        trainer = vkformer.Trainer(FIXTURES / "bert_cls", batch_size=4, context=20, iterations=50, learning_rate=5e-4,
                                   min_learning_rate=0, schedule="linear", warmup=5, beta2=0.999, weight_decay=0.01)
        for step in range(1, 7):
            self.assertAlmostEqual(trainer.learning_rate, recorded["learning_rates"][step - 1])
            batch = {theirs: batches[f"{step}.0.{ours}"] for ours, theirs in names.items()}
            self.assertAlmostEqual(trainer.step([batch]), recorded["losses"][step - 1], delta=2e-4)
        self.assertEqual(trainer.iteration, 6)

    def test_a_run_is_gone_on_with_bit_for_bit(self):
        whole, cut = small_trainer(), small_trainer()
        for step in range(6):
            whole.step(**small_batch(step))
        for step in range(3):
            cut.step(**small_batch(step))
        run = SCRATCH / "resumed"
        cut.save(run)
        self.assertEqual(sorted(path.name for path in run.iterdir()), ["checkpoint-000003", "latest"])
        cut = vkformer.Trainer.resume(run)
        self.assertEqual(cut.iteration, 3)
        for step in range(3, 6):
            cut.step(**small_batch(step))
        self.assertEqual(cut.gradient_norm, whole.gradient_norm)
        for name in whole.model.parameters:
            np.testing.assert_array_equal(cut.model.parameter(name), whole.model.parameter(name))
        cut.save(run)
        saved = vkformer.Model(run)
        np.testing.assert_array_equal(saved.logits([5, 6, 7]), cut.model.logits([5, 6, 7]))
        changed = vkformer.Trainer.resume(run, learning_rate=1.0, schedule="constant")
        self.assertEqual(changed.learning_rate, 1.0)
        self.refuse(vkformer.Error, "no checkpoint", vkformer.Trainer.resume, SCRATCH)

    def test_a_run_is_not_written_over(self):
        run = SCRATCH / "first"
        first = small_trainer()
        first.step(**small_batch(0))
        first.save(run)
        self.refuse(vkformer.Error, "already holds a run", small_trainer().save, run)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(SCRATCH)
        for name in ("relative", "below/another", "with-slash/", SCRATCH / "absolute"):
            trainer = small_trainer()
            for _ in range(2):
                trainer.save(name)
        self.assertEqual(vkformer.Trainer.resume(run).iteration, 1)

    def test_a_trainer_that_cannot_begin_is_an_error(self):
        run = SCRATCH / "no-average"
        trainer = small_trainer()
        trainer.save(run)
        self.refuse(vkformer.Error, "lacks 16 tensors", vkformer.Trainer.resume, run, moving_average=0.99)
        self.assertEqual(vkformer.Trainer.resume(run).step(**small_batch(0)), trainer.step(**small_batch(0)))

    def test_it_learns_and_shows_what_it_learnt(self):
        trainer = small_trainer(iterations=120, learning_rate=2e-2)
        before = trainer.evaluate(**small_batch(1000))
        for step in range(120):
            trainer.step(**small_batch(step))
        self.assertLess(trainer.evaluate(**small_batch(1000)), 0.2 * before)
        written = trainer.model.generate([40, 41, 42], max_new_tokens=4, do_sample=False)
        self.assertEqual(written.tolist(), [43, 44, 45, 46])

    def test_rates_are_the_commands(self):
        self.assertAlmostEqual(small_trainer(learning_rate=1e-5, warmup=0, schedule="constant").learning_rate, 1e-5)
        self.assertAlmostEqual(vkformer.Trainer(FIXTURES / "gpt2", warmup=0, schedule="constant").learning_rate, 5e-5)
        adapter = vkformer.Trainer(FIXTURES / "gpt2", warmup=0, schedule="constant", lora={"r": 2})
        self.assertAlmostEqual(adapter.learning_rate, 1e-4)
        trainer = small_trainer(learning_rate=1e-5, iterations=2, warmup=0)
        for _ in range(2):
            trainer.step(**small_batch(0))
        self.assertAlmostEqual(trainer.learning_rate, 1e-6)

    def test_token_types_of_xlnet(self):
        trainer = vkformer.Trainer(FIXTURES / "xlnet_cls", batch_size=2, context=5, token_type_ids=True)
        batch = {"input_ids": np.ones((2, 5), int), "token_type_ids": np.zeros((2, 5), int), "targets": [0, 1]}
        self.assertGreater(trainer.step(**batch), 0)
        self.assertGreater(trainer.evaluate(batch), 0)

    def test_micro_batches(self):
        one, two = small_trainer(clip=0), small_trainer(clip=0, accumulate=2)
        batch = small_batch(1)
        halves = [{name: rows[:2] for name, rows in batch.items()}, {name: rows[2:] for name, rows in batch.items()}]
        self.assertAlmostEqual(one.step(batch), two.step(halves), places=5)
        for name in one.model.parameters:
            np.testing.assert_allclose(one.model.parameter(name), two.model.parameter(name), atol=1e-4)
        self.refuse(vkformer.Error, "1 micro-batches were given for an iteration of 2", two.step, [batch])

    def test_what_is_wrong_is_said(self):
        self.refuse(vkformer.Error, 'a trainer has no setting "learnig_rate"', small_trainer, learnig_rate=1)
        self.refuse(vkformer.Error, "no schedule 'steep'", small_trainer, schedule="steep")
        self.refuse(vkformer.Error, "warmup must be a whole number", small_trainer, warmup=0.5)
        for wrong in ({"learning_rate": -1}, {"beta1": 2}, {"iterations": 0}, {"loss_scale": 0}, {"clip": -1}):
            self.refuse(vkformer.Error, f"{next(iter(wrong))} must be a", small_trainer, **wrong)
        self.refuse(ValueError, "JSON", small_trainer, clip=float("inf"))
        tokenizer = FIXTURES / "tokenizers" / "bert"
        size = vkformer.Tokenizer(tokenizer).vocabulary_size
        self.refuse(vkformer.Error, f"the tokenizer has {size} tokens, the config only 97", small_trainer,
                    tokenizer=tokenizer)
        self.refuse(vkformer.Error, "is no folder", small_trainer, tokenizer=tokenizer / "tokenizer.json")
        self.refuse(vkformer.Error, "there is no 'nowhere'", vkformer.Trainer, "nowhere")
        trainer = small_trainer()
        batch = small_batch(0)
        self.refuse(vkformer.Error, "targets are [16, 4], not [4, 16]", trainer.step, input_ids=batch["input_ids"],
                    targets=batch["targets"].T)
        self.refuse(TypeError, "must be a dict", trainer.step, [5])
        self.refuse(vkformer.Error, "needs targets", trainer.step, input_ids=[[5, 6]])
        self.refuse(vkformer.Error, "target", trainer.step, input_ids=[[5, 6]], targets=[[6, 97]])
        self.refuse(TypeError, "one batch as keywords", trainer.step)
        self.assertEqual(trainer.iteration, 0)

    def test_checkpoints_keep_the_tokenizer(self):
        tokenizer = FIXTURES / "tokenizers" / "bert"
        run = SCRATCH / "with-tokenizer"
        config = {name: value for name, value in SMALL_GPT.items() if name != "vocab_size"}
        trainer = vkformer.Trainer(config, tokenizer=tokenizer, batch_size=4, context=16)
        self.assertEqual(trainer.model.vocabulary_size, vkformer.Tokenizer(tokenizer).vocabulary_size)
        for _ in range(3):
            trainer.save(run)
            trainer.step(**small_batch(0))
        trainer = vkformer.Trainer.resume(run)
        for _ in range(3):
            trainer.step(**small_batch(0))
            trainer.save(run)
        self.assertEqual(vkformer.Tokenizer(run).encode("the cat").tolist(),
                         vkformer.Tokenizer(tokenizer).encode("the cat").tolist())

    def test_a_model_stays_what_it_was_when_its_run_goes_on(self):
        tokenizer, before = os.path.relpath(FIXTURES / "tokenizers" / "bert"), os.getcwd()
        run = SCRATCH / "goes-on"
        config = {**SMALL_GPT, "vocab_size": vkformer.Tokenizer(tokenizer).vocabulary_size}
        trainer = vkformer.Trainer(config, tokenizer=tokenizer, batch_size=1, context=4)
        try:
            os.chdir(SCRATCH)
            trainer.save(run)
        finally:
            os.chdir(before)
        model = vkformer.Model(run)
        text = model.generate("the", special_tokens=False, max_new_tokens=2, do_sample=False)
        trainer.step(input_ids=[[1, 2, 3, 4]], targets=[[2, 3, 4, 5]])
        trainer.save(run)
        self.assertFalse(model.path.exists())
        self.assertEqual(model.generate("the", special_tokens=False, max_new_tokens=2, do_sample=False), text)

    def test_adapters(self):
        lora = {"r": 4, "alpha": 8, "targets": ["c_attn"]}
        trainer = vkformer.Trainer(FIXTURES / "gpt2", batch_size=4, context=16, lora=lora, learning_rate=1e-2, warmup=1)
        base = trainer.model.parameter("transformer.wte.weight")
        before = trainer.evaluate(**small_batch(7))
        for _ in range(5):
            trainer.step(**small_batch(7))
        self.assertLess(trainer.evaluate(**small_batch(7)), before)
        np.testing.assert_array_equal(trainer.model.parameter("transformer.wte.weight"), base)
        run = SCRATCH / "adapter"
        trainer.save(run)
        adapted = vkformer.Model(FIXTURES / "gpt2", adapter=run)
        np.testing.assert_allclose(adapted.logits([5, 6]), trainer.model.logits([5, 6]), atol=1e-5)
        maps, of_base = adapted.attention([5, 6]), vkformer.Model(FIXTURES / "gpt2").attention([5, 6])
        self.assertFalse(np.array_equal(maps[0]["weights"], of_base[0]["weights"]))
        gone_on = vkformer.Trainer.resume(run)
        self.assertEqual(gone_on.step(**small_batch(8)), trainer.step(**small_batch(8)))
        classifier = vkformer.Trainer(FIXTURES / "bert_cls", batch_size=2, context=8, lora={"r": 2}, warmup=0)
        head = classifier.model.parameter("classifier.weight")
        classifier.step(input_ids=[[5, 6, 7, 8, 9, 10, 11, 12]] * 2, targets=[0, 1])
        self.assertTrue((classifier.model.parameter("classifier.weight") != head).any())
        classifier.save(SCRATCH / "head")
        np.testing.assert_array_equal(vkformer.Model(FIXTURES / "bert_cls", adapter=SCRATCH / "head").logits([5, 6]),
                                      classifier.model.logits([5, 6]))
        self.refuse(vkformer.Error, 'lora has no setting "rank"', vkformer.Trainer, FIXTURES / "gpt2", lora={"rank": 4})
        self.refuse(vkformer.Error, "a config has none", small_trainer, lora=lora)
        self.refuse(vkformer.Error, "weights is for frozen ones", small_trainer, weights="bf16")

    def test_the_command_reads_what_is_saved(self):
        command = os.environ.get("VKFORMER")
        if not command:
            self.skipTest("VKFORMER does not name the command")
        trainer = small_trainer()
        trainer.step(**small_batch(0))
        trainer.save(SCRATCH / "for-the-command")
        result = subprocess.run([command, "generate", SCRATCH / "for-the-command", "--ids", "5,6,7", "-n", "4", "--json",
                                 "--quiet", "--temp", "0"], check=True, capture_output=True, text=True)
        ids = trainer.model.generate([5, 6, 7], max_new_tokens=4, do_sample=False)
        self.assertEqual(json.loads(result.stdout)[0]["ids"][3:], ids.tolist())
