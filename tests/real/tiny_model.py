"""Write a tiny Qwen3 checkpoint and train it until it knows the prober's prompts. Runs in vLLM's own environment.

    python tests/real/tiny_model.py DIRECTORY [--untrained]

The model has two layers, and learns by heart: two known answers after a short thought, one of them after a long prompt,
two tool calls, the answer to the result of one, and one JSON object. It takes minutes on two cores. It generates
nothing else of use.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

sys.path.insert(0, str(Path(__file__).parents[2] / "sparkiac"))
from host.probe import agents, answers

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ENDS = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
TEMPLATE = (
    "{%- if tools %}{{- '<|im_start|>system\\ntools: ' }}"
    "{%- for t in tools %}{{- (t.function or t).name + ' ' }}{%- endfor %}{{- '<|im_end|>\\n' }}{%- endif %}"
    "{%- for m in messages %}{%- if m.role != 'assistant' %}{{- '<|im_start|>' + m.role + '\\n' + (m.content "
    "if m.content is string else (m.content | map(attribute='text') | join(''))) + '<|im_end|>\\n' }}"
    "{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
THOUGHT = "<think>\nIt is a number.\n</think>\n\n"
CALL = {"name": "get_time", "arguments": {"city": "Paris"}}
NOTE = {"name": "save_note", "arguments": {"title": answers.NUMBER, "text": 'He said "yes".'}}
RETURNED = [agents.ASKED, {"role": "tool", "content": agents.RESULT}]
"""The conversation after the tool has run, as the template shows it."""
LENGTH = 4096
GOAL = 0.002
MOST_STEPS = 1500
SHOWN = 20
LONG = 1
"""Number of the lesson with a long prompt."""


def tokenizer_of(directory: Path, texts: list[str]) -> Any:  # noqa: ANN401 - transformers has no types
    """Train and write a byte-level tokenizer."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=specials, initial_alphabet=alphabet)
    found.train_from_iterator(texts, trainer)
    found.add_tokens(["<think>", "</think>", "<tool_call>", "</tool_call>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=found, model_max_length=LENGTH, **ENDS)
    fast.chat_template = TEMPLATE
    fast.save_pretrained(directory)
    return fast


def call_of(function: dict[str, Any]) -> str:
    """Return how the model calls a tool."""
    return f"<think>\nA tool.\n</think>\n\n<tool_call>\n{json.dumps(function)}\n</tool_call>"


def lessons() -> list[tuple[dict[str, Any], str]]:
    """Return the requests of the prober and the responses that the model learns."""
    return [
        (answers.QUESTION, f"{THOUGHT}{answers.NUMBER}"),
        (answers.long_question(LENGTH), f"{THOUGHT}{answers.NUMBER}"),
        (answers.OTHER_QUESTION, f"{THOUGHT}{answers.OTHER_NUMBER}"),
        (answers.QUESTION_WITH_TOOLS, call_of(CALL)),
        (answers.QUESTION_WITH_STRINGS, call_of(NOTE)),
        ({**answers.QUESTION_WITH_TOOLS, "messages": RETURNED}, f"{THOUGHT}{agents.RESULT}"),
        (answers.QUESTION_WITH_SCHEMA, f'{THOUGHT}{{"number": {answers.NUMBER}}}'),
    ]


def model_of(tokenizer: Any) -> Any:  # noqa: ANN401 - transformers has no types
    """Return a model with random weights."""
    torch.manual_seed(7)
    config = Qwen3Config(
        hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        head_dim=64, vocab_size=(len(tokenizer) + 63) // 64 * 64, max_position_embeddings=LENGTH,
        tie_word_embeddings=True, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return Qwen3ForCausalLM(config).to(DEVICE)


def train(model: Any, tokenizer: Any) -> None:  # noqa: ANN401 - transformers has no types
    """Train until every lesson is known by heart."""
    known = []
    for request, response in lessons():
        prompt = tokenizer.apply_chat_template(
            request["messages"], tools=request.get("tools"), tokenize=False, add_generation_prompt=True
        )
        texts = (prompt, f"{response}<|im_end|>")
        start, end = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts)
        labels = [-100] * len(start) + end
        known.append([torch.tensor([each], device=DEVICE) for each in (start + end, labels)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = [math.inf] * len(known)
    for step in range(MOST_STEPS):
        for number, (tokens, labels) in enumerate(known):
            if number == LONG and step % SHOWN:  # it costs as much as all others, and has the same end
                continue
            loss = model(input_ids=tokens, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses[number] = loss.item()
        if step % SHOWN == 0:
            print(step, [round(each, 4) for each in losses], flush=True)  # noqa: T201
        if max(losses) < GOAL:
            return
    sys.exit(f"the model did not learn in {MOST_STEPS} steps: {losses}")


def main() -> None:
    """Write the checkpoint."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--untrained", action="store_true")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    texts = [json.dumps(request) + response for request, response in lessons()]
    tokenizer = tokenizer_of(arguments.directory, texts)
    model = model_of(tokenizer)
    if not arguments.untrained:
        train(model, tokenizer)
    model.save_pretrained(arguments.directory)


if __name__ == "__main__":
    main()
