"""The Transformer of "Attention Is All You Need" in plain PyTorch, with the names of the `vaswani` model folders.

transformers has no such model, so this one stands in for it: same calls, same results as its encoder-decoder models.
"""

import json
import math
from types import SimpleNamespace

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, source, hidden_keys):
        """hidden_keys: true where a query may not look, [batch, 1, queries or 1, keys]."""
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = split(self.query(x)), split(self.key(source)), split(self.value(source))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        probabilities = scores.masked_fill(hidden_keys, -math.inf).softmax(-1)
        return self.output((probabilities @ v).transpose(1, 2).flatten(2)), probabilities


class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.hidden, self.output = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return self.output(self.hidden(x).relu())


class Layer(nn.Module):
    def __init__(self, c, crosses):
        super().__init__()
        width, epsilon = c["d_model"], c["layer_norm_eps"]
        self.pre_norm = c["pre_norm"]
        self.self_attention = Attention(width, c["num_heads"])
        self.self_attention_norm = nn.LayerNorm(width, epsilon)
        if crosses:
            self.cross_attention = Attention(width, c["num_heads"])
            self.cross_attention_norm = nn.LayerNorm(width, epsilon)
        self.feed_forward = FeedForward(width, c["d_ff"])
        self.feed_forward_norm = nn.LayerNorm(width, epsilon)

    def residual(self, x, norm, block):
        return x + block(norm(x)) if self.pre_norm else norm(x + block(x))

    def forward(self, x, own_hidden, source=None, source_hidden=None):
        seen = []

        def attend(attention, keys, hidden):
            def block(y):
                out, probabilities = attention(y, y if keys is None else keys, hidden)
                seen.append(probabilities)
                return out

            return block

        x = self.residual(x, self.self_attention_norm, attend(self.self_attention, None, own_hidden))
        if source is not None:
            x = self.residual(x, self.cross_attention_norm, attend(self.cross_attention, source, source_hidden))
        return self.residual(x, self.feed_forward_norm, self.feed_forward), seen


class Stack(nn.Module):
    def __init__(self, c, layers, crosses):
        super().__init__()
        self.layers = nn.ModuleList(Layer(c, crosses) for _ in range(layers))
        if c["final_norm"]:
            self.final_norm = nn.LayerNorm(c["d_model"], c["layer_norm_eps"])

    def forward(self, x, *others):
        attentions = []
        for layer in self.layers:
            x, seen = layer(x, *others)
            attentions.append(seen)
        return (self.final_norm(x) if hasattr(self, "final_norm") else x), attentions


class Vaswani(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embedding = nn.Embedding(c["vocab_size"], c["d_model"])
        self.encoder = Stack(c, c["encoder_layers"], False)
        self.decoder = Stack(c, c["decoder_layers"], True)

    def embed(self, ids):
        width = self.c["d_model"]
        angles = torch.arange(ids.shape[1], dtype=torch.float64)[:, None] * torch.exp(
            torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width)
        )
        positions = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width]
        x = self.embedding(ids.long())
        return x * (math.sqrt(width) if self.c["scale_embedding"] else 1.0) + positions.to(x.dtype)

    def forward(self, input_ids, attention_mask, decoder_input_ids, **_):
        padded = (attention_mask == 0)[:, None, None, :]
        source, encoder_seen = self.encoder(self.embed(input_ids), padded)
        targets = decoder_input_ids.shape[1]
        later = torch.ones(targets, targets, dtype=torch.bool).triu(1)[None, None]
        hidden, decoder_seen = self.decoder(self.embed(decoder_input_ids), later, source, padded)
        return SimpleNamespace(
            logits=hidden @ self.embedding.weight.T,
            last_hidden_state=hidden,
            encoder_last_hidden_state=source,
            encoder_attentions=[s[0] for s in encoder_seen],
            decoder_attentions=[s[0] for s in decoder_seen],
            cross_attentions=[s[1] for s in decoder_seen],
        )


def load_config(path):
    with open(path) as file:
        return json.load(file)


def next_log_probabilities(model, source, mask, sequences):
    with torch.no_grad():
        return model(source, mask, torch.tensor(sequences)).logits[:, -1].log_softmax(-1)


def greedy_search(model, prompt, steps, start, end, pad):
    """Ids with the start id in front; rows that ended are filled with pad."""
    rows = [[start] for _ in prompt["input_ids"]]
    ended = [False] * len(rows)
    for _ in range(steps):
        best = next_log_probabilities(model, prompt["input_ids"], prompt["attention_mask"], rows).argmax(-1).tolist()
        rows = [row + [pad if done else token] for row, token, done in zip(rows, best, ended)]
        ended = [done or token == end for token, done in zip(best, ended)]
        if all(ended):
            break
    return torch.tensor(rows)


def beam_search(model, prompt, steps, start, end, pad, beams):
    """Hypotheses, best first, and their scores: the sum of log-probabilities over the generated length.

    As transformers does it with length_penalty 1 and early_stopping false: of the 2 * beams best continuations those
    that end count only among the first `beams`; a source is finished when its worst kept hypothesis beats the best open
    one.
    """
    found = []
    for ids, mask in zip(prompt["input_ids"], prompt["attention_mask"]):
        open_rows, finished = [([start], 0.0)], []
        for length in range(1, steps + 1):
            log = next_log_probabilities(model, ids.expand(len(open_rows), -1), mask.expand(len(open_rows), -1),
                                         [row for row, _ in open_rows])
            totals = (log + torch.tensor([score for _, score in open_rows])[:, None]).flatten()
            best = totals.topk(2 * beams)
            ranked = [(open_rows[i // log.shape[1]][0] + [i % log.shape[1]], total)
                      for i, total in zip(best.indices.tolist(), best.values.tolist())]
            finished += [(row, total / length) for row, total in ranked[:beams] if row[-1] == end or length == steps]
            finished = sorted(finished, key=lambda h: -h[1])[:beams]
            open_rows = [(row, total) for row, total in ranked if row[-1] != end][:beams]
            if len(finished) == beams and open_rows[0][1] / length <= finished[-1][1]:
                break
        found += finished
    longest = max(len(row) for row, _ in found)
    return (torch.tensor([row + [pad] * (longest - len(row)) for row, _ in found]),
            torch.tensor([score for _, score in found]))
