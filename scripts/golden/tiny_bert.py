"""A tiny random BERT for the golden data of late-interaction models."""
import string

import tokenizers
import torch
import transformers

HIDDEN = 16
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# The vocabulary has no "~", so that one word of the usual skip list, string.punctuation, is unknown.
SIGNS = string.punctuation.replace("~", "")


def make_tokenizer():
    vocab = {name: i for i, name in enumerate(SPECIAL)}
    for letter in string.ascii_lowercase:
        vocab[letter] = len(vocab)
        vocab["##" + letter] = len(vocab)
    for sign in SIGNS:
        vocab[sign] = len(vocab)
    result = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
    result.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    result.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    result.add_special_tokens(list(SPECIAL))
    result.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=result, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]",
        mask_token="[MASK]", model_max_length=64)


def make_base(folder):
    """Writes a BERT without modules.json, to which another program adds the modules of its model."""
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(vocab_size=len(tokenizer), hidden_size=HIDDEN, num_hidden_layers=1,
                                     num_attention_heads=2, intermediate_size=24, max_position_embeddings=64)
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
