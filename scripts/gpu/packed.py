"""A peer: the forward pass of BERT and Qwen2 over packed sequences in plain PyTorch, with the FlashAttention-2 of
torch.nn.attention.varlen. It is what a user would write who wants no padding: one matrix [tokens, hidden] for the rows of a
batch."""
import itertools
import queue
import threading

import torch
import transformers
from torch.nn import functional

READ_AHEAD = 2  # batches


def flash_attention(q, k, v, lengths, causal):
    """q is [tokens, heads, head_dim]; k and v may have fewer heads."""
    from torch.nn.attention.varlen import varlen_attn
    window = (-1, 0) if causal else (-1, -1)
    return varlen_attn(q, k, v, lengths.starts, lengths.starts, lengths.longest, lengths.longest, window_size=window)


class Lengths:
    """Where the sequences of a batch begin in the packed matrix."""

    def __init__(self, rows, device):
        counts = torch.tensor([len(ids) for ids in rows])
        self.longest = int(counts.max())
        self.counts = counts.to(device, non_blocking=True)
        self.starts = functional.pad(torch.cumsum(counts, 0), (1, 0)).to(torch.int32).to(device, non_blocking=True)
        self.positions = torch.cat([torch.arange(count) for count in counts.tolist()]).to(device, non_blocking=True)


class Packed:
    """attend(q, k, v, lengths, causal) is flash_attention; the test of this file replaces it, because that needs a GPU."""

    def __init__(self, path, dtype, device, attend=flash_attention):
        self.model = transformers.AutoModel.from_pretrained(str(path), dtype=dtype).to(device).eval()
        self.config, self.device, self.attend = self.model.config, device, attend
        self.heads = self.config.num_attention_heads
        self.forward, self.causal = {"bert": (self.bert, False), "qwen2": (self.qwen2, True)}[self.config.model_type]
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(path))
        self.set_row_tokens(self.tokenizer.model_max_length)

    def set_row_tokens(self, row_tokens):
        self.row_tokens = row_tokens

    def tokenize(self, texts):
        return self.tokenizer(texts, truncation=True, max_length=self.row_tokens, padding=False)["input_ids"]

    def split(self, x, heads):
        return x.view(x.shape[0], heads, -1)

    def bert(self, ids, lengths):
        embeddings = self.model.embeddings
        x = embeddings.word_embeddings(ids) + embeddings.position_embeddings(lengths.positions)
        x = embeddings.LayerNorm(x + embeddings.token_type_embeddings.weight[0])
        for layer in self.model.encoder.layer:
            attention, output = layer.attention.self, layer.attention.output
            q, k, v = (self.split(product(x), self.heads) for product in (attention.query, attention.key, attention.value))
            attended = self.attend(q, k, v, lengths, False).flatten(1)
            x = output.LayerNorm(output.dense(attended) + x)
            inner = functional.gelu(layer.intermediate.dense(x))
            x = layer.output.LayerNorm(layer.output.dense(inner) + x)
        return x

    def qwen2(self, ids, lengths):
        x = self.model.embed_tokens(ids)
        cos, sin = (part[0][:, None] for part in self.model.rotary_emb(x[None], lengths.positions[None]))

        def rotate(value):
            first, second = value.chunk(2, dim=-1)
            return value * cos + torch.cat((-second, first), dim=-1) * sin

        for layer in self.model.layers:
            attention = layer.self_attn
            normed = layer.input_layernorm(x)
            q = rotate(self.split(attention.q_proj(normed), self.heads))
            k = rotate(self.split(attention.k_proj(normed), self.config.num_key_value_heads))
            v = self.split(attention.v_proj(normed), self.config.num_key_value_heads)
            x = x + attention.o_proj(self.attend(q, k, v, lengths, True).flatten(1))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return self.model.norm(x)

    def pool(self, x, lengths):
        """The mean for BERT and the last token for Qwen2, as the models of shapes.py have it, at length 1."""
        if self.causal:
            rows = x[lengths.starts[1:].long() - 1].float()
        else:
            rows = torch.segment_reduce(x.float(), "mean", lengths=lengths.counts, unsafe=True)  # a check would wait for the device
        return functional.normalize(rows, dim=1)

    def encode(self, texts, batch_size):
        """Returns [rows, hidden] in float32 on the host. A thread tokenizes the next batches while the device computes."""
        batches = queue.Queue(READ_AHEAD)

        def produce():
            for begin in range(0, len(texts), batch_size):
                batches.put(self.tokenize(texts[begin:begin + batch_size]))
            batches.put(None)

        threading.Thread(target=produce, daemon=True).start()
        vectors = []
        with torch.inference_mode():
            while (rows := batches.get()) is not None:
                ids = torch.tensor(list(itertools.chain.from_iterable(rows))).to(self.device, non_blocking=True)
                lengths = Lengths(rows, self.device)
                vectors.append(self.pool(self.forward(ids, lengths), lengths))
            return torch.cat(vectors).cpu()
