import functools
import json
import shutil

import numpy as np

import vkformer
from common import FIXTURES, SCRATCH, Case

WORDS = {word: i for i, word in enumerate("[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat".split())}


@functools.lru_cache
def model_of_words(name, **changes):
    """A recorded encoder with a tokenizer of words among its ids."""
    folder = SCRATCH / "-".join([f"telling-{name}", *changes])
    shutil.copytree(FIXTURES / name, folder)
    mask = {"id": 4, "content": "[MASK]", "special": True, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [mask], "normalizer": None, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, "decoder": None,
        "model": {"type": "WordPiece", "vocab": WORDS, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100}}))
    config = json.loads((folder / "config.json").read_text())
    config.update({key: dict(value) for key, value in changes.items()})
    (folder / "config.json").write_text(json.dumps(config))
    return vkformer.Model(folder)


def softmax(logits):
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def ids_of(text):
    return [[2, *(WORDS[word] for word in text.split()), 3]]


class Telling(Case):
    def test_masks_are_filled(self):
        model, text = model_of_words("bert_mlm"), "the [MASK] sat on the [MASK]"
        shares = softmax(model.logits(ids_of(text))[0].astype(np.float64))
        first, second = model.fill(text, top=3)["masks"]
        for found, place in ((first, 2), (second, 6)):
            self.assertEqual([word["id"] for word in found], list(np.argsort(-shares[place])[:3]))
            np.testing.assert_allclose([word["probability"] for word in found], np.sort(shares[place])[::-1][:3], atol=1e-5)
        several = model.fill([text, "the [MASK]"], top=3)
        self.assertEqual(several[0], model.fill(text, top=3))
        self.assertEqual([list(one) for one in several], [["filled", "masks", "text"]] * 2)
        self.assertEqual(model.fill([]), [])
        self.refuse(vkformer.Error, "text 1 has no [MASK]; write [MASK]", model.fill, [text, "the cat"])
        self.refuse(vkformer.Error, "top must be at least 1", model.fill, text, top=0)
        self.refuse(vkformer.Error, "predicts no masked words", model_of_words("bert_tokens").fill, text)

    def test_words_are_tagged(self):
        model = model_of_words("bert_tokens")
        shares = softmax(model.logits(ids_of("the cat sat"))[0].astype(np.float64))[1:4]
        found = model.tag("the cat  sat")
        self.assertEqual(found["words"], ["the", "cat", "sat"])
        self.assertEqual(found["tags"], [model.labels[i] for i in shares.argmax(-1)])
        np.testing.assert_allclose(found["probabilities"], shares.max(-1), atol=1e-5)
        self.assertEqual(model.tag([["the", "cat", "sat"], "mat"])[0], found)
        self.refuse(vkformer.Error, "gives no tags", model_of_words("bert_mlm").tag, "the")
        self.refuse(TypeError, "each word of a text", model.tag, [[1]])

    def test_answers_are_found(self):
        model, context = model_of_words("bert_qa"), "the cat sat on the mat"
        found = model.answer("the mat", context)
        self.assertEqual(found["question"], "the mat")
        self.assertEqual(found["answer"], context[found["start"]:found["end"]])
        ids = [2, *ids_of("the mat")[0][1:-1], 3, *ids_of(context)[0][1:]]
        segments = [[0] * 4 + [1] * (len(ids) - 4)]
        ends = model.logits([ids], token_type_ids=segments)[0].astype(np.float64)
        shares = softmax(ends[[0, *range(4, 10)]].T)
        pairs = {(s, e): shares[0, s] * shares[1, e] for s in range(1, 7) for e in range(s, 7)}
        best = max(pairs, key=pairs.get)
        if pairs[best] > shares[0, 0] * shares[1, 0]:
            self.assertEqual(found["answer"], " ".join(context.split()[best[0] - 1:best[1]]))
            self.assertAlmostEqual(found["probability"], pairs[best], places=5)
        else:
            self.assertEqual(found["answer"], "")
        self.assertEqual(model.answer(["the mat", "cat"], context)[0], found)
        self.assertEqual(model.answer(["the mat", "cat"], [context, "the cat"])[0], found)
        self.refuse(vkformer.Error, "there are 1 contexts for 2 questions", model.answer, ["a", "b"], ["c"])
        self.refuse(vkformer.Error, "finds no answers", model_of_words("bert_mlm").answer, "the", context)

    def test_candidates(self):
        names = (("0", "contradiction"), ("1", "neutral"), ("2", "entailment"))
        model = model_of_words("bert_cls", id2label=names)
        hypothesis, candidates = "the {}", ["cat", "mat"]
        shares = model.classify(["sat on", "the"], candidates=candidates, hypothesis=hypothesis)
        self.assertEqual(shares.shape, (2, 2))
        np.testing.assert_allclose(shares.sum(1), 1, atol=1e-5)
        logits = np.stack([model.logits([[2, 7, 8, 3, 5, WORDS[name], 3]], token_type_ids=[[0] * 4 + [1] * 3])[0]
                           for name in candidates]).astype(np.float64)
        np.testing.assert_allclose(shares[0], softmax(logits[:, 2]), atol=1e-5)
        each = model.classify(["sat on"], candidates=candidates, hypothesis=hypothesis, multi_label=True)
        np.testing.assert_allclose(each[0], softmax(logits[:, [0, 2]])[:, 1], atol=1e-5)
        self.refuse(vkformer.Error, "candidates has none", model.classify, ["the"], candidates=[])
        self.refuse(vkformer.Error, 'candidates has "cat" twice', model.classify, ["the"], candidates=["cat", "cat"])
        self.refuse(vkformer.Error, "has no {}", model.classify, ["the"], candidates=["cat"], hypothesis="the")
        self.refuse(vkformer.Error, "its classes are", model_of_words("bert_cls").classify, ["the"], candidates=["cat"])
