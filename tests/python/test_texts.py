import json
import shutil

import numpy as np

import vkformer
from common import FIXTURES, SCRATCH, SMALL_GPT, TOKENIZERS, Case, text_model


class Tokenizers(Case):
    def test_ids_and_back(self):
        for name in ("gpt2", "llama", "t5", "bert"):
            tokenizer = vkformer.Tokenizer(TOKENIZERS / name)
            ids = tokenizer.encode("the cat sat")
            self.assertEqual(ids.dtype, np.int32)
            self.assertEqual(tokenizer.decode(ids), "the cat sat")
            self.assertEqual(tokenizer.decode(list(ids)), "the cat sat")
            self.assertEqual(len(tokenizer.tokens(ids)), len(ids))
            self.assertLessEqual(len(tokenizer.encode("the cat sat", special_tokens=False)), len(ids))
        self.assertEqual(tokenizer.decode([]), "")
        self.refuse(ValueError, "ids has 2 dimensions", tokenizer.decode, [[1, 2], [3, 4]])
        self.assertIsNone(tokenizer.id_of("no such token"))
        self.assertEqual(tokenizer.tokens([tokenizer.id_of("[CLS]")]), ["[CLS]"])
        self.assertIn("[CLS]", tokenizer.decode(ids, special_tokens=True))

    def test_a_folder_of_the_cache(self):
        snapshot = SCRATCH / "models--a--b" / "snapshots" / "123"
        shutil.copytree(TOKENIZERS / "gpt2", snapshot)
        (snapshot / "config.json").write_text("{}")
        (snapshot.parent.parent / "refs").mkdir()
        (snapshot.parent.parent / "refs" / "main").write_text("123")
        self.assertEqual(vkformer.Tokenizer(SCRATCH / "models--a--b").vocabulary_size,
                         vkformer.Tokenizer(TOKENIZERS / "gpt2").vocabulary_size)

    def test_chat_templates(self):
        folder = SCRATCH / "chat"
        folder.mkdir()
        shutil.copy(TOKENIZERS / "gpt2" / "tokenizer.json", folder)
        messages = [{"role": "user", "content": "Why?"}]
        tokenizer = vkformer.Tokenizer(folder)
        self.refuse(vkformer.Error, "no chat template", tokenizer.apply_chat_template, messages)
        shutil.copy(FIXTURES.parent / "chat_templates" / "recorded" / "chatml.jinja", folder / "chat_template.jinja")
        tokenizer = vkformer.Tokenizer(folder)
        self.assertEqual(tokenizer.apply_chat_template(messages),
                         "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n")
        self.assertEqual(tokenizer.apply_chat_template(messages, add_generation_prompt=False),
                         "<|im_start|>user\nWhy?<|im_end|>\n")


class Texts(Case):
    def test_texts(self):
        model = vkformer.Model(text_model())
        text = model.generate("the cat", max_new_tokens=6, seed=1, temperature=1.0)
        self.assertIsInstance(text, str)
        self.assertEqual(text, model.generate("the cat", max_new_tokens=6, seed=1, temperature=1.0))
        ids = vkformer.Tokenizer(text_model()).encode("the cat")
        same = model.generate(ids, max_new_tokens=6, seed=1, temperature=1.0)
        self.assertEqual(vkformer.Tokenizer(text_model()).decode(same), text)
        both = model.generate(["the cat", "on the mat"], max_new_tokens=4, do_sample=False)
        self.assertEqual(both[0], model.generate("the cat", max_new_tokens=4, do_sample=False))

    def test_a_callback_gets_the_text_as_it_comes(self):
        model = vkformer.Model(text_model())
        pieces = []
        text = model.generate("the cat", max_new_tokens=8, seed=2, temperature=1.0, callback=pieces.append)
        self.assertEqual("".join(pieces), text)
        self.assertGreater(len(pieces), 1)
        first = []

        def stop(piece):
            first.append(piece)
            return True

        self.assertEqual(model.generate("the cat", max_new_tokens=8, seed=2, temperature=1.0, callback=stop), first[0])
        counted = lambda piece: len(piece)  # as sys.stdout.write does
        self.assertEqual(model.generate("the cat", max_new_tokens=8, seed=2, temperature=1.0, callback=counted), text)

    def test_errors_of_a_callback_are_its_callers(self):
        model = vkformer.Model(text_model())

        def fail(piece):
            raise KeyError(piece)

        with self.assertRaises(KeyError):
            model.generate("the cat", max_new_tokens=4, callback=fail)
        self.refuse(vkformer.Error, "at work for the call", model.generate, "the cat", max_new_tokens=4,
                    callback=lambda piece: model.logits([5]))
        self.assertIsInstance(model.generate("the cat", max_new_tokens=1), str)  # it still works

    def test_grammars(self):
        model = vkformer.Model(text_model())
        text = model.generate("the", max_new_tokens=4, grammar='root ::= " cat" | " mat"', seed=1)
        self.assertIn(text, (" cat", " mat"))
        schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"],
                  "additionalProperties": False}
        value = json.loads(model.generate("the", max_new_tokens=24, json_schema=schema, seed=1))
        self.assertIsInstance(value["a"], bool)
        with self.assertLogs("vkformer", "WARNING") as told:
            model.generate(["the", "a"], max_new_tokens=2, json_schema=schema)
        self.assertIn("prompt 0 ends before its form is complete", told.output[0])

    def test_chat(self):
        run = SCRATCH / "chat-run"
        shutil.copytree(text_model(), run)
        model = vkformer.Model(run)
        self.refuse(vkformer.Error, "no chat template", model.chat, [{"role": "user", "content": "the cat"}])
        (checkpoint,) = run.glob("checkpoint-*")
        (checkpoint / "chat_template.jinja").write_text(
            "{% for m in messages %}{{ m['content'] }}{% if m['role'] == 'assistant' %}<|endoftext|>{% endif %}{% endfor %}")
        model = vkformer.Model(run)
        self.assertEqual(model.chat([{"role": "user", "content": "the cat"}], max_new_tokens=3, do_sample=False),
                         model.generate("the cat", max_new_tokens=3, do_sample=False))

        self.refuse(TypeError, "messages must be a list", model.chat, "the cat")
        self.refuse(TypeError, "messages must be a list", model.chat, [])
        # What the template writes behind an answer ends one, whatever the config says.
        end, other = vkformer.Tokenizer(run).id_of("<|endoftext|>"), 262
        settings = {"suppress_tokens": [i for i in range(model.vocabulary_size) if i not in (end, other)], "top_k": 0,
                    "max_new_tokens": 12, "temperature": 1e2, "seed": 1}
        chat = model.chat([{"role": "user", "content": "the cat"}], **settings)
        self.assertEqual(chat, model.generate("the cat", eos_token_id=end, **settings))
        self.assertLess(len(chat), len(model.generate("the cat", eos_token_id=None, **settings)))

    def test_texts_go_on_from_their_prompts(self):
        run = text_model("llama")
        model, pieces = vkformer.Model(run), []
        text = model.generate("the cat", max_new_tokens=6, seed=8, temperature=2.0, callback=pieces.append)
        self.assertEqual("".join(pieces), text)
        ids = vkformer.Tokenizer(run).encode("the cat")
        whole = np.concatenate([ids, model.generate(ids, max_new_tokens=6, seed=8, temperature=2.0)])
        self.assertEqual("the cat" + text, vkformer.Tokenizer(run).decode(whole))

    def test_embeddings(self):
        model = vkformer.Model(text_model())
        vectors = model.embed(["the cat", "on the mat", "the cat"])
        self.assertEqual(vectors.shape, (3, SMALL_GPT["n_embd"]))
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        np.testing.assert_array_equal(vectors[0], vectors[2])
        self.assertEqual(model.embed([]).shape[0], 0)
        # Those that `logits` has: the mean of the hidden states.
        hidden = model.hidden_states(vkformer.Tokenizer(text_model()).encode("the cat")[None])[0].mean(0)
        np.testing.assert_allclose(vectors[0], hidden / np.linalg.norm(hidden), atol=1e-4)

    def test_classes(self):
        folder = SCRATCH / "classifier"
        shutil.copytree(FIXTURES / "bert_cls", folder)
        model = vkformer.Model(folder)
        self.refuse(vkformer.Error, "tokenizer", model.classify, ["the cat"])
        # The recorded model knows 97 ids; a tokenizer of words among them.
        words = {word: i for i, word in enumerate("[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat".split())}
        (folder / "tokenizer.json").write_text(json.dumps({
            "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": None, "decoder": None,
            "model": {"type": "WordPiece", "vocab": words, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100}}))
        model = vkformer.Model(folder)
        shares = model.classify(["the cat", ("the cat", "on the mat"), "sat"])
        self.assertEqual(shares.shape, (3, len(model.labels)))
        np.testing.assert_allclose(shares.sum(1), 1, atol=1e-5)
        logits = model.logits([[words["the"], words["cat"]]])[0].astype(np.float64)
        np.testing.assert_allclose(shares[0], np.exp(logits) / np.exp(logits).sum(), atol=1e-5)
