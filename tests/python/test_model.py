import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np

import vkformer
from common import FIXTURES, Case, fixture, safetensors, text_model


class Computing(Case):
    def test_logits_are_those_recorded_of_pytorch(self):
        for name in ("gpt2", "bert_cls", "t5"):
            recorded = safetensors(FIXTURES / name / "expected.safetensors")
            inputs = {key: value for key, value in recorded.items() if key in (
                "input_ids", "attention_mask", "token_type_ids", "decoder_input_ids")}
            logits = fixture(name).logits(**inputs)
            expected = recorded["logits"]
            self.assertEqual(logits.dtype, np.float32)
            self.assertEqual(logits.shape, expected.shape)
            shown = np.ones(expected.shape, bool)
            if "attention_mask" in inputs and name not in ("t5", "bert_cls"):
                shown = np.broadcast_to(inputs["attention_mask"][..., None] != 0, expected.shape)
            self.assertLess(np.abs(logits - expected)[shown].max(), 2e-5 * np.abs(expected).max())

    def test_any_integers_are_ids(self):
        model = fixture("gpt2")
        expected = model.logits(np.array([[5, 17, 3]], np.int32))
        for ids in ([5, 17, 3], (5, 17, 3), np.array([5, 17, 3], np.int64), np.array([[5, 17, 3]], np.uint8),
                    np.array([3, 17, 5])[::-1], np.array([5, 0, 17, 0, 3], np.int32)[::2], np.array([5, 17, 3], ">i4")):
            np.testing.assert_array_equal(model.logits(ids), expected)
        rows = np.array([[5, 17, 3], [9, 8, 7]], np.int32)
        self.assertFalse(np.asfortranarray(rows).flags.c_contiguous)
        np.testing.assert_array_equal(model.logits(np.asfortranarray(rows)), model.logits(rows))

    def test_results_are_not_copied(self):
        logits = fixture("gpt2").logits([5, 17, 3])
        self.assertFalse(logits.flags.owndata)  # the memory that the device's results were read into
        self.assertTrue(logits.flags.writeable)
        logits[0, 0, 0] = 7
        self.assertNotEqual(fixture("gpt2").logits([5, 17, 3])[0, 0, 0], 7)

    def test_hidden_states_times_the_head_are_logits(self):
        model = fixture("gpt2")
        hidden = model.hidden_states([5, 17, 3])
        head = model.parameter("transformer.wte.weight")
        self.assertEqual(head.shape, model.parameters["transformer.wte.weight"])
        np.testing.assert_allclose(hidden @ head.T, model.logits([5, 17, 3]), atol=2e-4)

    def test_log_probabilities_are_those_of_logits(self):
        model = fixture("gpt2")
        ids = np.array([5, 17, 3, 20, 9])
        logits = model.logits(ids)[0].astype(np.float64)
        expected = (logits - np.log(np.exp(logits).sum(-1, keepdims=True)))[np.arange(4), ids[1:]]
        scores = model.log_probabilities(ids)
        self.assertEqual(scores.dtype, np.float32)
        np.testing.assert_allclose(scores, expected, atol=1e-4)
        several = model.log_probabilities([ids, ids[:2], ids[:1]])
        np.testing.assert_allclose(several[1], expected[:1], atol=1e-4)
        self.assertEqual([len(row) for row in several], [4, 1, 0])
        self.assertEqual(len(model.log_probabilities([7] * 100)), 99)  # more than it has positions for
        with self.assertRaisesRegex(vkformer.Error, "no decoder"):
            fixture("t5").log_probabilities([5, 17])
        text = text_model()
        spoken = vkformer.Model(text)
        self.assertEqual(len(spoken.log_probabilities("the cat")), len(vkformer.Tokenizer(text).encode("the cat")) - 1)

    def test_parameters_can_be_changed(self):
        model = vkformer.Model(FIXTURES / "gpt2")
        name = "transformer.ln_f.bias"
        before = model.logits([5, 17])
        bias = model.parameter(name)
        model.set_parameter(name, bias + 1)
        self.assertGreater(np.abs(model.logits([5, 17]) - before).max(), 0.1)
        model.set_parameter(name, bias.astype(np.float64))
        np.testing.assert_array_equal(model.logits([5, 17]), before)
        self.refuse(vkformer.Error, "the shape [64]", model.set_parameter, name, bias[:3])
        self.refuse(vkformer.Error, "no parameter 'x'", model.parameter, "x")

    def test_weights_of_16_bits(self):
        model = vkformer.Model(FIXTURES / "gpt2", dtype="bf16")
        exact, rounded = fixture("gpt2").logits([5, 17]), model.logits([5, 17])
        self.assertFalse(np.array_equal(exact, rounded))
        np.testing.assert_allclose(exact, rounded, atol=0.05 * np.abs(exact).max())

    def test_attention(self):
        maps = fixture("t5").attention([5, 17, 1], [0, 3])
        self.assertEqual({row["kind"] for row in maps}, {"encoder", "decoder", "cross"})
        for row in maps:
            np.testing.assert_allclose(row["weights"].sum(-1), 1, atol=1e-5)
        self.assertEqual([row["weights"].shape for row in maps if row["kind"] == "cross"], [(4, 2, 3)] * 2)
        self.refuse(vkformer.Error, "give both", fixture("t5").attention, [5, 1])

    def test_what_is_wrong_is_said(self):
        model = fixture("gpt2")
        self.refuse(ValueError, "input_ids has float64", model.logits, [0.5])
        self.refuse(ValueError, "does not fit 32 bits", model.logits, [2**40])
        self.refuse(ValueError, "does not fit 32 bits", model.logits, np.array([2**64 - 100], np.uint64))
        self.refuse(ValueError, "text has 2 dimensions", model.attention, [[5, 17], [3, 4]])
        self.refuse(ValueError, "3 dimensions", model.logits, np.zeros((1, 1, 1), int))
        self.refuse(vkformer.Error, "the model has 97 ids", model.logits, [97])
        self.refuse(vkformer.Error, "attention_mask is [1, 3], but input_ids [1, 2]", model.logits, [5, 6],
                    attention_mask=[1, 1, 1])
        self.refuse(vkformer.Error, "there are no decoder_input_ids", fixture("t5").logits, [5, 1])
        self.refuse(vkformer.Error, "there is no 'nowhere'", vkformer.Model, "nowhere")
        self.refuse(vkformer.Error, "no tokenizer.json", model.generate, "text")
        self.refuse(vkformer.Error, "gives no class", model.classify, ["text"])
        self.assertEqual(model.labels, [])
        self.refuse(TypeError, "texts must be a list", model.classify, "text")
        self.refuse(TypeError, "must be a str", model.embed, [5])
        self.refuse(vkformer.Error, "batch_tokens must be at least 1", model.embed, ["text"], batch_tokens=0)

    def test_timings(self):
        self.refuse(vkformer.Error, "profile=True", fixture("gpt2").timings)
        model = vkformer.Model(FIXTURES / "gpt2", profile=True)
        model.logits([5, 17, 3])
        rows = model.timings()
        self.assertIn("matmul", {row["op"] for row in rows})
        self.assertTrue(all(row["seconds"] >= 0 and row["program"] == "logits" for row in rows))
        self.assertGreater(sum(row["flops"] for row in rows), 2 * 3 * 64 * 97)
        model.generate([5, 17, 3], max_new_tokens=3, eos_token_id=None, do_sample=False)
        self.assertEqual({row["program"] for row in model.timings()}, {"prefill", "decode"})

    def test_devices(self):
        listed = vkformer.devices()
        self.assertEqual([row["default"] for row in listed].count(True), 1)
        self.assertIn(listed[0]["name"], fixture("gpt2").device)
        self.assertEqual(vkformer.Model(FIXTURES / "gpt2", device=listed[0]["index"]).device, fixture("gpt2").device)
        reference = vkformer.Model(FIXTURES / "gpt2", device="reference")
        np.testing.assert_allclose(reference.logits([5, 17]), fixture("gpt2").logits([5, 17]), atol=1e-4)
        self.refuse(vkformer.Error, "no device", vkformer.Model, FIXTURES / "gpt2", device="nothing like it")


def python(script, **keywords):
    """Runs a script in a Python of its own."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(FIXTURES)], capture_output=True, text=True,
                          timeout=120, **keywords)


class Threads(Case):
    def test_threads_that_use_arrays_first(self):
        result = python("""
            import sys, threading, vkformer
            tokenizer = vkformer.Tokenizer(sys.argv[1] + "/tokenizers/gpt2")
            barrier = threading.Barrier(4)
            def run():
                barrier.wait()
                tokenizer.encode("the cat")
            threads = [threading.Thread(target=run) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            """)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_python_ends_while_a_thread_is_at_work(self):
        for work in ("generate([5], max_new_tokens=31, eos_token_id=None, seed=1)", "logits(list(range(30)))"):
            result = python(f"""
                import sys, threading, vkformer
                model, started = vkformer.Model(sys.argv[1] + "/gpt2"), threading.Event()
                def run():
                    while True:
                        model.{work}
                        started.set()
                threading.Thread(target=run, daemon=True).start()
                started.wait()
                """)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_forked_processes_have_no_device(self):
        result = python("""
            import os, sys, vkformer, warnings
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks with threads about
            model = vkformer.Model(sys.argv[1] + "/gpt2")
            child = os.fork()
            if child == 0:
                try: model.logits([5])
                except vkformer.Error as error: os._exit(7 if "forked" in str(error) else 8)
                os._exit(9)
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            """)
        self.assertEqual((result.returncode, result.stderr), (7, ""))

    def test_ctrl_c_ends_waiting_for_a_device(self):
        at_work, ended = threading.Event(), threading.Event()

        def hold():
            holder.generate("the", max_new_tokens=2, callback=lambda piece: (at_work.set(), ended.wait(60)))

        holder = vkformer.Model(text_model())
        thread = threading.Thread(target=hold)
        thread.start()
        self.assertTrue(at_work.wait(60))
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job's Python has not
        self.addCleanup(signal.signal, signal.SIGINT, before)
        signals = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        signals.start()
        with self.assertRaises(KeyboardInterrupt):
            holder.logits([5])
        ended.set()
        thread.join()
        self.assertEqual(holder.logits([5]).shape[1], 1)

    def test_others_go_on_while_the_device_computes(self):
        model, counted, ended = fixture("gpt2"), [0], threading.Event()

        def count():
            while not ended.is_set():
                counted[0] += 1
                time.sleep(0)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(60)  # nobody has to give the interpreter up
        try:
            thread = threading.Thread(target=count)
            thread.start()
            before = counted[0]
            for length in range(20, 32):  # a program each is recorded
                model.logits(list(range(length)))
            after = counted[0]
        finally:
            ended.set()
            sys.setswitchinterval(interval)
            thread.join()
        self.assertGreater(after, before + 1)

    def test_one_model_of_several_threads(self):
        model = fixture("gpt2")
        expected = [model.logits([i, i + 1]) for i in range(8)]
        results = [None] * 8

        def run(i):
            for _ in range(5):
                results[i] = model.logits([i, i + 1])

        threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result, wanted in zip(results, expected):
            np.testing.assert_array_equal(result, wanted)
