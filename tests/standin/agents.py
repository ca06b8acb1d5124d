"""The paths of agents: /v1/messages, which Claude Code uses, and /v1/responses, which Codex uses, over the chat.

Requests are checked as vLLM 0.23.0 checks them; what sparkiac's prober does not send is refused.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from answers import BadRequestError

Json = dict[str, Any]

BLOCKS = {"text", "thinking", "tool_use", "tool_result"}
ITEMS = {"reasoning", "message", "function_call", "function_call_output"}
STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def need(found: object, refusal: str) -> None:
    """Refuse a request that lacks something."""
    if not found:
        raise BadRequestError(refusal)


def known(request: Json, *keys: str) -> None:
    """Refuse a request with other keys than these."""
    need(set(request) <= set(keys), f"the stand-in does not know {', '.join(sorted(set(request) - set(keys)))}")


def function(tool: Json, schema: str) -> Json:
    """Return a tool as chat requests have it."""
    need(isinstance(tool.get(schema), dict), f"tools: {schema}: Field required")
    found = {"name": tool["name"], "description": tool.get("description"), "parameters": tool[schema]}
    return {"type": "function", "function": found}


def chat_of_messages(request: Json) -> Json:
    """Return the chat request that a request to /v1/messages is."""
    known(request, "model", "messages", "max_tokens", "temperature", "tools")
    need(isinstance(request.get("max_tokens"), int) and request["max_tokens"] > 0, "max_tokens: Field required")
    turns: list[Json] = []
    for message in request["messages"]:
        need(message.get("role") in {"user", "assistant"}, "messages: role: Input should be 'user' or 'assistant'")
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        need(all(block.get("type") in BLOCKS for block in blocks), "messages: content: type: unknown")
        results = [block for block in blocks if block["type"] == "tool_result"]
        calls = [block for block in blocks if block["type"] == "tool_use"]
        need(all(block.get("tool_use_id") for block in results), "messages: content: tool_use_id: Field required")
        need(all(isinstance(block.get("input"), dict) for block in calls), "messages: content: input: Field required")
        turns += [{"role": "tool", "content": block["content"]} for block in results]
        text = "".join(block.get("text", "") for block in blocks)
        if text or calls:
            turns.append({"role": message["role"], "content": text})
    tools = [function(tool, "input_schema") for tool in request.get("tools") or []]
    return {"model": request.get("model"), "messages": turns, "max_tokens": request["max_tokens"], "tools": tools}


def messages_of_chat(answer: Json) -> Json:
    """Return the response of /v1/messages for one of the chat."""
    choice, usage = answer["choices"][0], answer["usage"]
    message = choice["message"]
    blocks: list[Json] = []
    if message["reasoning"]:
        blocks.append({"type": "thinking", "thinking": message["reasoning"], "signature": uuid.uuid4().hex})
    if message["content"]:
        blocks.append({"type": "text", "text": message["content"]})
    for call in message["tool_calls"]:
        given = json.loads(call["function"]["arguments"])
        blocks.append({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": given})
    return {
        "id": answer["id"], "type": "message", "role": "assistant", "content": blocks, "model": answer["model"],
        "stop_reason": STOPS[choice["finish_reason"]],
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }  # fmt: skip


def chat_of_responses(request: Json) -> Json:
    """Return the chat request that a request to /v1/responses is."""
    known(request, "model", "input", "max_output_tokens", "temperature", "tools", "store")
    turns: list[Json] = []
    called: set[str] = set()
    for item in request["input"]:
        kind = item.get("type", "message")
        need(kind in ITEMS, f"input: type: {kind!r} is unknown")
        if kind == "function_call":
            json.loads(item["arguments"])
            called.add(item["call_id"])
        if kind == "function_call_output":
            need(item.get("call_id") in called, f"No call message found for {item.get('call_id')}")
            turns.append({"role": "tool", "content": item["output"]})
        elif kind == "message":
            turns.append({"role": item["role"], "content": item["content"]})
        else:
            turns.append({"role": "assistant", "content": ""})
    tools = [function(tool, "parameters") for tool in request.get("tools") or []]
    limit = request.get("max_output_tokens")
    return {"model": request.get("model"), "messages": turns, "max_tokens": limit, "tools": tools}


def responses_of_chat(answer: Json) -> Json:
    """Return the response of /v1/responses for one of the chat."""
    choice = answer["choices"][0]
    message = choice["message"]
    items: list[Json] = []
    if message["reasoning"]:
        text = [{"type": "reasoning_text", "text": message["reasoning"]}]
        items.append({"type": "reasoning", "id": f"rs_{uuid.uuid4().hex}", "summary": [], "content": text})
    if message["content"]:
        text = [{"type": "output_text", "text": message["content"], "annotations": [], "logprobs": None}]
        items.append({"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant",
                      "status": "completed", "content": text})  # fmt: skip
    items += [
        {"type": "function_call", "id": f"fc_{uuid.uuid4().hex}", "status": "completed", "call_id": call["id"],
         **call["function"]} for call in message["tool_calls"]
    ]  # fmt: skip
    status = "incomplete" if choice["finish_reason"] == "length" else "completed"
    return {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "model": answer["model"], "status": status,
            "output": items}  # fmt: skip


PATHS = {
    "/v1/messages": (chat_of_messages, messages_of_chat),
    "/v1/responses": (chat_of_responses, responses_of_chat),
}
"""Path → how its requests become those of the chat, and how its responses are made of those of the chat."""
