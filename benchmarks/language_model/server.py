"""Serves a GGUF file with transformers, as much of the OpenAI chat protocol as newfound speaks; requests are batched.

python benchmarks/language_model/server.py MODEL.gguf --port 8081 --device cuda

On a GPU hundreds of requests at once take hardly longer than one. It needs torch, transformers and gguf.
"""

from __future__ import annotations

import argparse
import itertools
import json
import queue
import resource
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

WAIT_SECONDS = 0.02  # for others to join a batch
MAX_PROMPT_TOKENS, MAX_CHARACTERS = 3_000, 1_000_000  # of a prompt; of the padded prompts of a batch
NAMES = {  # of tensors: those of llama.cpp, and those of transformers
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_output": "self_attn.o_proj",
    "output": "lm_head",
    "blk.": "model.layers.",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    **{f"attn_{part}": f"self_attn.{part}_proj" for part in "qkv"},
    **{f"ffn_{part}": f"mlp.{part}_proj" for part in ("gate", "up", "down")},
}


def load_model(path: Path, device: str) -> Any:
    """Return the model of a GGUF file of the Qwen2 family; transformers would need accelerate for that."""
    import torch
    from gguf import GGUFReader, dequantize  # type: ignore[import-not-found, unused-ignore]
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        config = AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    state = {}
    for tensor in GGUFReader(path).tensors:
        name = tensor.name
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        weight = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type))
        state[name] = weight.reshape(*reversed(tensor.shape.tolist())).to(device, torch.bfloat16)
    state.setdefault("lm_head.weight", state["model.embed_tokens.weight"])
    model.load_state_dict(state, assign=True)
    rotary = type(model.model.rotary_emb)(config=config)  # its frequencies are no part of the file
    model.model.rotary_emb = rotary
    return model.to(device).eval()


class Request:
    """A prompt, how it is to be answered, and its answer as soon as it is there."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.prompt = body["messages"][0]["content"]
        self.kind = (float(body.get("temperature", 1)), int(body.get("max_tokens", 1000)))
        self.answer, self.done = "", threading.Event()


class Model:
    """Answers requests of the same kind together, those that came first before others."""

    def __init__(self, path: Path, device: str, at_once: int) -> None:
        from transformers import AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(path.parent, padding_side="left", gguf_file=path.name)
        self.ends = self.tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
        self.model, self.device, self.at_once = load_model(path, device), device, at_once
        self.waiting: queue.Queue[Request] = queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        waiting: list[Request] = []
        while True:
            waiting.append(self.waiting.get() if not waiting else waiting.pop(0))
            time.sleep(WAIT_SECONDS)
            while not self.waiting.empty():
                waiting.append(self.waiting.get())
            kind = min(waiting, key=lambda request: request.kind[1]).kind
            batch = self._that_fit([request for request in waiting if request.kind == kind])
            waiting = [request for request in waiting if request not in batch]
            try:
                self._answer(batch, *kind)
            except Exception as error:
                print(f"{len(batch)} requests failed: {error!r}", flush=True)
            for request in batch:
                request.done.set()

    def _that_fit(self, requests: list[Request]) -> list[Request]:
        """Return the first requests, as many as fit into memory together when they are padded."""
        longest = itertools.accumulate((len(request.prompt) for request in requests), max)
        fitting = sum(number * length <= MAX_CHARACTERS for number, length in enumerate(longest, 1))
        return requests[: max(1, min(fitting, self.at_once))]

    def _answer(self, batch: list[Request], temperature: float, tokens: int) -> None:
        import torch

        started = time.monotonic()
        chats = [[{"role": "user", "content": request.prompt}] for request in batch]
        texts = [self.tokenizer.apply_chat_template(c, tokenize=False, add_generation_prompt=True) for c in chats]
        settings = {"padding": True, "truncation": True, "max_length": MAX_PROMPT_TOKENS, "add_special_tokens": False}
        tokenized = self.tokenizer(texts, return_tensors="pt", **settings).to(self.device)
        sampling: dict[str, Any] = {"do_sample": bool(temperature), "eos_token_id": self.ends, "top_p": None}
        sampling |= {"temperature": temperature or None, "top_k": 0 if temperature else None}
        sampling["pad_token_id"] = self.ends[1]
        with torch.inference_mode():
            output = self.model.generate(**tokenized, max_new_tokens=tokens, **sampling)
        new = output[:, tokenized["input_ids"].shape[1] :]
        for request, answer in zip(batch, self.tokenizer.batch_decode(new, skip_special_tokens=True), strict=True):
            request.answer = answer
        took = f"{new.shape[1]} tokens: {time.monotonic() - started:.1f} s"
        print(f"{len(batch)} requests of {tuple(tokenized['input_ids'].shape)}, {took}", flush=True)


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--at-once", type=int, default=768)
    options = parser.parse_args()
    model = Model(options.model, options.device, options.at_once)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = Request(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            model.waiting.put(request)
            request.done.wait()
            reply = json.dumps({"choices": [{"message": {"content": request.answer}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size, daemon_threads = 4096, True

    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)  # one per request
    with Server(("127.0.0.1", options.port), Handler) as server:
        print("ready", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
