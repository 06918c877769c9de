"""Stand-ins of Python code that repositories name, written from what the published code does. They are not part of the product."""

LLAMA_BIDIRECTIONAL = '''
import torch
from transformers import LlamaConfig, LlamaModel


class LlamaBidirectionalConfig(LlamaConfig):
    model_type = "llama_bidirec"


class LlamaBidirectionalModel(LlamaModel):
    config_class = LlamaBidirectionalConfig

    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        hidden = torch.zeros(attention_mask.shape, dtype=self.dtype)
        hidden.masked_fill_(attention_mask == 0, torch.finfo(self.dtype).min)
        mask = hidden[:, None, None, :].expand(-1, 1, input_ids.shape[1], -1)
        return super().forward(input_ids=input_ids, attention_mask=mask, **kwargs)
'''

# encode() of the package gritlm calls the published model with is_causal=False.
GRITLM = '''
import torch
import transformers


class MistralModel(transformers.MistralModel):
    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        hidden = torch.zeros(attention_mask.shape, dtype=self.dtype)
        hidden.masked_fill_(attention_mask == 0, torch.finfo(self.dtype).min)
        mask = hidden[:, None, None, :].expand(-1, 1, input_ids.shape[1], -1)
        return super().forward(input_ids=input_ids, attention_mask=mask, **kwargs)
'''


def files(name):
    """The files of a stand-in: {name of the file: its text}."""
    if name == "gritlm":
        return {"modeling_gritlm7b.py": GRITLM}
    if name == "llama_bidirectional":
        return {"llama_bidirectional_model.py": LLAMA_BIDIRECTIONAL}
    import make_gte_qwen2  # in scripts/golden
    return {"tokenization_qwen.py": make_gte_qwen2.TOKENIZATION, "modeling_qwen.py": make_gte_qwen2.MODELING}
