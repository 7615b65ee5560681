"""Generate text with a small transformer of random weights: many small copies, nothing to gain."""

import torch
from rounds import report
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
sizes = {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 8}
config = LlamaConfig(**sizes, num_attention_heads=8, num_key_value_heads=8, vocab_size=8192)
model = LlamaForCausalLM(config).cuda().eval()
prompt = torch.arange(32, device="cuda")[None]
results: list[torch.Tensor] = []


def work() -> None:
    """Generate 128 tokens, greedily."""
    results.clear()
    mask = torch.ones_like(prompt)
    settings = {"max_new_tokens": 128, "min_new_tokens": 128, "do_sample": False}
    results.append(model.generate(prompt, attention_mask=mask, **settings))
    torch.cuda.synchronize()


work()
report(work, lambda: [one.tolist() for one in results], 6)
