import numpy as np

import vkformer
from common import Case, fixture


def greedy(model, ids, count):
    """The likeliest ids, one forward pass each."""
    ids = list(ids)
    for _ in range(count):
        ids.append(int(model.logits(ids)[0, -1].argmax()))
    return ids[-count:]


class Writing(Case):
    def test_the_likeliest_ids(self):
        model = fixture("llama")
        prompt = [5, 17, 3]
        written = model.generate(prompt, max_new_tokens=6, do_sample=False, eos_token_id=None)
        self.assertEqual(written.dtype, np.int32)
        self.assertEqual(written.tolist(), greedy(model, prompt, 6))
        # Several prompts side by side write what each writes alone.
        rows = model.generate([prompt, np.array([4]), [9, 8]], max_new_tokens=6, do_sample=False, eos_token_id=None,
                              batch_size=2)
        for row, given in zip(rows, ([5, 17, 3], [4], [9, 8])):
            self.assertEqual(row.tolist(), greedy(model, given, 6))

    def test_positions_that_depend_on_the_length(self):
        model = fixture("phi3_short")
        ids = [41, 7, 34, 7, 7, 40]
        alone = model.generate(ids, max_new_tokens=6, do_sample=False, eos_token_id=None).tolist()
        self.assertEqual(alone, greedy(model, ids, 6))
        both = model.generate([ids, ids * 6], max_new_tokens=6, do_sample=False, eos_token_id=None)
        self.assertEqual(both[0].tolist(), alone)

    def test_draws_follow_the_seed(self):
        model = fixture("llama")
        draw = lambda seed: model.generate([5, 17], max_new_tokens=12, temperature=1.5, seed=seed).tolist()
        self.assertEqual(draw(3), draw(3))
        self.assertNotEqual(draw(3), draw(4))

    def test_each_prompt_draws_for_itself(self):
        for name in ("llama", "t5"):
            draw = lambda size: [ids.tolist() for ids in fixture(name).generate(
                [[5, 17, 1]] * 6, max_new_tokens=10, temperature=1.5, seed=1, eos_token_id=None, batch_size=size)]
            self.assertEqual(len({tuple(ids) for ids in draw(2)}), 6)
            self.assertEqual(draw(2), draw(5))

    def test_several_draws_of_a_prompt(self):
        for name in ("llama", "t5"):
            draw = lambda count: fixture(name).generate(
                [5, 17, 1], max_new_tokens=10, temperature=1.5, seed=1, eos_token_id=None, num_return_sequences=count)
            self.assertEqual(len({tuple(ids) for ids in draw(3)}), 3)
            self.assertEqual(draw(3)[0].tolist(), draw(1).tolist())

    def test_beams_of_an_encoder_decoder(self):
        model = fixture("marian")
        several = model.generate([5, 17, 3, 2], num_beams=4, num_return_sequences=3, max_new_tokens=8)
        self.assertEqual(len(several), 3)
        self.assertEqual(model.generate([[5, 17, 3, 2]], num_beams=4, max_new_tokens=8)[0].tolist(),
                         several[0].tolist())

    def test_an_encoder_decoder_writes_200_tokens_where_nothing_ends_them(self):
        self.assertEqual(len(fixture("t5").generate([5, 17, 1], eos_token_id=None, do_sample=False)), 200)

    def test_settings(self):
        model = fixture("llama")
        self.refuse(TypeError, "'max_new_token'; did you mean 'max_new_tokens'?", model.generate, [5], max_new_token=3)
        self.refuse(TypeError, "seed must be", model.generate, [5], seed=-1)
        self.refuse(vkformer.Error, '"top_p" must be a number', model.generate, [5], top_p=3)
        self.refuse(vkformer.Error, "is not supported", model.generate, [5], typical_p=0.5)
        self.refuse(TypeError, "not both", model.generate, [5], grammar="root ::= \"a\"", json_schema={})
        self.refuse(TypeError, "callback wants one text", model.generate, [5], callback=print)
        self.refuse(TypeError, "seed must be", model.generate, [5], seed=2**40)
        self.refuse(TypeError, "there is no setting 'callbak'", model.generate, [5], callbak=print)
        self.refuse(TypeError, "each prompt must be a str", model.generate, ["a", 5])
        self.refuse(ValueError, "JSON", model.generate, [5], temperature=float("nan"))
        plain = model.generate([5], max_new_tokens=4, do_sample=False).tolist()
        neutral = {"typical_p": 1.0, "pad_token_id": 0, "use_cache": True, "temperature": None, "do_sample": None}
        self.assertEqual(model.generate([5], max_new_tokens=4, **neutral).tolist(), plain)
        self.refuse(ValueError, "one is wanted", model.generate, np.zeros((1, 1, 1), int))
        self.assertEqual(model.generate([]), [])

    def test_numpy_numbers_are_settings(self):
        model = fixture("llama")
        few = model.generate([5], max_new_tokens=np.int64(2), temperature=np.float32(0.5), seed=1, eos_token_id=None)
        self.assertEqual(len(few), 2)
