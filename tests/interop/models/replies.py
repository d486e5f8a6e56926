"""What a model says, and how each provider puts that on the wire, as its documentation shows it.

- gemini: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/thought-signatures
- openai: https://platform.openai.com/docs/api-reference/chat-streaming
- openai-responses: https://platform.openai.com/docs/api-reference/responses-streaming
- anthropic: https://docs.anthropic.com/en/docs/build-with-claude/streaming
"""
import dataclasses, json


@dataclasses.dataclass
class Call:
    id: str
    name: str
    arguments: dict


@dataclasses.dataclass
class Reply:
    text: str = ""
    thought: str = ""
    signature: str = ""
    """What signs the thought; base64, so that every provider's own could look so."""
    calls: list = dataclasses.field(default_factory=list)
    finish: str = "stop"
    """Or `length`."""
    mixed: bool = True
    """Where calls come in fragments by index: a bit of each in turn, and not one after the other."""
    prompt: int = 120
    cached: int = 30
    output: int = 17
    thinking: int = 9


def pieces(text, size=5):
    return [text[at:at + size] for at in range(0, len(text), size)]


def event_stream(kind, reply):
    """The body of the response, as bytes."""
    return STREAMS[kind](reply).encode()


def gemini(reply):
    def chunk(part=None, finish=None):
        candidate = {"index": 0}
        if part is not None:
            candidate["content"] = {"role": "model", "parts": [part]}
        if finish:
            candidate["finishReason"] = finish
        usage = {
            "promptTokenCount": reply.prompt, "cachedContentTokenCount": reply.cached,
            "candidatesTokenCount": reply.output, "thoughtsTokenCount": reply.thinking,
            "totalTokenCount": reply.prompt + reply.output + reply.thinking,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": reply.prompt}],
        }
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro", "responseId": "r-1"}

    chunks = [chunk({"text": piece, "thought": True}) for piece in pieces(reply.thought)]
    chunks += [chunk({"text": piece}) for piece in pieces(reply.text)]
    # The first call is signed, and none beside it; without a call the end is.
    signature = {"thoughtSignature": reply.signature} if reply.signature else {}
    for n, call in enumerate(reply.calls):
        # The id is optional here, and this provider seldom gives one.
        name = {"id": call.id} if call.id else {}
        function = {"functionCall": {**name, "name": call.name, "args": call.arguments}}
        chunks.append(chunk({**function, **(signature if n == 0 else {})}))
    end = {"text": "", **({} if reply.calls else signature)}
    chunks.append(chunk(end, {"stop": "STOP", "length": "MAX_TOKENS"}[reply.finish]))
    return "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)


def openai(reply):
    def chunk(delta, finish=None):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-x",
                "system_fingerprint": "fp", "choices": [choice], "usage": None}

    chunks = [chunk({"role": "assistant", "content": "", "refusal": None})]
    # No field of OpenAI's own: what servers of open models send.
    chunks += [chunk({"reasoning_content": piece}) for piece in pieces(reply.thought)]
    chunks += [chunk({"content": piece}) for piece in pieces(reply.text)]
    fragments = []
    for n, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        fragments.append((0, n, {"index": n, "id": call.id, "type": "function", "function": function}))
        for at, piece in enumerate(pieces(json.dumps(call.arguments)), 1):
            fragments.append((at, n, {"index": n, "function": {"arguments": piece}}))
    if reply.mixed:
        fragments.sort(key=lambda fragment: fragment[:2])
    chunks += [chunk({"tool_calls": [fragment]}) for _, _, fragment in fragments]
    chunks.append(chunk({}, "length" if reply.finish == "length" else "tool_calls" if reply.calls else "stop"))
    completion = reply.output + reply.thinking
    last = chunk({}) | {"choices": [], "usage": {
        "prompt_tokens": reply.prompt, "completion_tokens": completion, "total_tokens": reply.prompt + completion,
        "prompt_tokens_details": {"cached_tokens": reply.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reply.thinking, "audio_tokens": 0,
                                      "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    }}
    lines = [json.dumps(chunk) for chunk in [*chunks, last]] + ["[DONE]"]
    return "".join(f"data: {line}\n\n" for line in lines)


def responses(reply):
    events, output = [], []
    failed = reply.finish == "length"

    def event(kind, **fields):
        events.append({"type": kind, "sequence_number": len(events), **fields})

    def response(status, **fields):
        return {"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "status": status, "error": None,
                "incomplete_details": None, "instructions": None, "metadata": {}, "model": "gpt-x", "output": [],
                "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
                "usage": None, **fields}

    def item(begun, whole, parts):
        at = {"output_index": len(output)}
        event("response.output_item.added", **at, item=begun)
        for kind, fields in parts:
            event(kind, item_id=whole["id"], **at, **fields)
        event("response.output_item.done", **at, item=whole)
        output.append(whole)

    event("response.created", response=response("in_progress"))
    event("response.in_progress", response=response("in_progress"))
    if reply.thought:
        empty, part = {"type": "summary_text", "text": ""}, {"type": "summary_text", "text": reply.thought}
        begun = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": ""}
        first = {"summary_index": 0}
        item(begun, begun | {"summary": [part], "encrypted_content": reply.signature}, [
            ("response.reasoning_summary_part.added", first | {"part": empty}),
            *[("response.reasoning_summary_text.delta", first | {"delta": piece}) for piece in pieces(reply.thought)],
            ("response.reasoning_summary_text.done", first | {"text": reply.thought}),
            ("response.reasoning_summary_part.done", first | {"part": part}),
        ])
    if reply.text:
        text = lambda content: {"type": "output_text", "text": content, "annotations": [], "logprobs": []}
        begun = {"type": "message", "id": "msg_1", "status": "in_progress", "role": "assistant", "content": []}
        first = {"content_index": 0}
        status = "incomplete" if failed else "completed"
        item(begun, begun | {"status": status, "content": [text(reply.text)]}, [
            ("response.content_part.added", first | {"part": text("")}),
            *[("response.output_text.delta", first | {"delta": piece, "logprobs": []}) for piece in pieces(reply.text)],
            ("response.output_text.done", first | {"text": reply.text, "logprobs": []}),
            ("response.content_part.done", first | {"part": text(reply.text)}),
        ])
    for n, call in enumerate(reply.calls):
        arguments = json.dumps(call.arguments)
        begun = {"type": "function_call", "id": f"fc_{n}", "call_id": call.id, "name": call.name, "arguments": "",
                 "status": "in_progress"}
        item(begun, begun | {"arguments": arguments, "status": "completed"}, [
            *[("response.function_call_arguments.delta", {"delta": piece}) for piece in pieces(arguments)],
            ("response.function_call_arguments.done", {"name": call.name, "arguments": arguments}),
        ])
    put_out = reply.output + reply.thinking
    usage = {"input_tokens": reply.prompt, "input_tokens_details": {"cached_tokens": reply.cached},
             "output_tokens": put_out, "output_tokens_details": {"reasoning_tokens": reply.thinking},
             "total_tokens": reply.prompt + put_out}
    if failed:
        details = {"reason": "max_output_tokens"}
        whole = response("incomplete", output=output, usage=usage, incomplete_details=details)
        event("response.incomplete", response=whole)
    else:
        event("response.completed", response=response("completed", output=output, usage=usage))
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def anthropic(reply):
    # What was cached is told beside the rest; half of that went into the cache just now.
    created = (reply.prompt - reply.cached) // 2
    usage = {"input_tokens": reply.prompt - reply.cached - created, "cache_creation_input_tokens": created,
             "cache_read_input_tokens": reply.cached, "output_tokens": 1, "service_tier": "standard"}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}
    events = [{"type": "message_start", "message": message}]
    blocks = 0

    def block(begun, deltas):
        nonlocal blocks
        events.append({"type": "content_block_start", "index": blocks, "content_block": begun})
        events.append({"type": "ping"})
        events.extend({"type": "content_block_delta", "index": blocks, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": blocks})
        blocks += 1

    if reply.thought:
        thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.thought)]
        signature = {"type": "signature_delta", "signature": reply.signature}
        block({"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signature])
    if reply.text:
        block({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(reply.text)])
    for call in reply.calls:
        fragments = ["", *pieces(json.dumps(call.arguments))]
        block({"type": "tool_use", "id": call.id, "name": call.name, "input": {}},
              [{"type": "input_json_delta", "partial_json": fragment} for fragment in fragments])
    stop = "max_tokens" if reply.finish == "length" else "tool_use" if reply.calls else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    # Thoughts are among what was put out, and are not counted by themselves.
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": reply.output + reply.thinking}})
    events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


STREAMS = {"gemini": gemini, "openai": openai, "openai-responses": responses, "anthropic": anthropic}
