"""What the providers' own SDKs make of a stream, in the words of this daemon's events."""
import base64, json

import anthropic, openai
from google import genai

import judging

# Seconds; all of them read from this machine.
TIMEOUT = 60


def usage(prompt, cached, output, thought):
    return {"promptTokens": prompt, "cachedTokens": cached, "outputTokens": output, "thoughtTokens": thought}


def whole(text, thought, calls, finish, used):
    return {"text": text, "thought": thought, "calls": calls, "finish": finish, "usage": used}


def gemini(provider, model, key, body):
    """Puts the same question as `body`, by the SDK's own means."""
    options = genai.types.HttpOptions(base_url=provider.base_url, api_version="v1beta", timeout=1000 * TIMEOUT)
    text = thought = ""
    signatures, calls, finish, used = [], [], None, None
    with genai.Client(api_key=key, http_options=options, vertexai=False) as client:
        contents, config = judging.google_parts(body)
        for chunk in client.models.generate_content_stream(model=model, contents=contents, config=config):
            used = chunk.usage_metadata or used
            candidate = chunk.candidates[0]
            finish = candidate.finish_reason or finish
            for part in candidate.content.parts if candidate.content else []:
                if part.thought_signature:
                    signatures.append(base64.b64encode(part.thought_signature).decode())
                if part.function_call:
                    calls.append((part.function_call.id, part.function_call.name, part.function_call.args))
                elif part.thought:
                    thought += part.text
                else:
                    text += part.text or ""
    finish = {"STOP": "stop", "MAX_TOKENS": "length"}[finish.value]
    counts = usage(used.prompt_token_count, used.cached_content_token_count, used.candidates_token_count,
                   used.thoughts_token_count)
    return whole(text, thought, calls, finish, counts), signatures


def openai_chat(provider, _, key, body):
    body = {name: value for name, value in body.items() if name != "stream"}
    base = f"{provider.base_url}/v1"
    with openai.OpenAI(api_key=key, base_url=base, max_retries=0, timeout=TIMEOUT) as client:
        with client.chat.completions.stream(**body) as stream:
            try:
                completion = stream.get_final_completion()
            except openai.LengthFinishReasonError as error:
                completion = error.completion
    choice = completion.choices[0]
    calls = [(it.id, it.function.name, json.loads(it.function.arguments)) for it in choice.message.tool_calls or []]
    # No field of the SDK's, which keeps it all the same.
    thought = (choice.message.model_extra or {}).get(judging.THOUGHTS_OF_OPEN_MODELS) or ""
    used = completion.usage
    reasoning = used.completion_tokens_details.reasoning_tokens
    counts = usage(used.prompt_tokens, used.prompt_tokens_details.cached_tokens, used.completion_tokens - reasoning,
                   reasoning)
    finish = {"stop": "stop", "tool_calls": "stop", "length": "length"}[choice.finish_reason]
    return whole(choice.message.content or "", thought, calls, finish, counts), []


def openai_responses(provider, _, key, body):
    body = {name: value for name, value in body.items() if name != "stream"}
    base = f"{provider.base_url}/v1"
    with openai.OpenAI(api_key=key, base_url=base, max_retries=0, timeout=TIMEOUT) as client:
        with client.responses.stream(**body) as stream:
            # Whole only when it is not cut; else it stands in the last event.
            response = [event for event in stream][-1].response
    thought, signatures, calls = "", [], []
    for item in response.output:
        if item.type == "reasoning":
            thought += "".join(part.text for part in item.summary)
            signatures.append(item.encrypted_content)
        elif item.type == "function_call":
            calls.append((item.call_id, item.name, json.loads(item.arguments)))
    used = response.usage
    reasoning = used.output_tokens_details.reasoning_tokens
    counts = usage(used.input_tokens, used.input_tokens_details.cached_tokens, used.output_tokens - reasoning, reasoning)
    finish = {"completed": "stop", "incomplete": "length"}[response.status]
    return whole(response.output_text, thought, calls, finish, counts), signatures


def anthropic_messages(provider, _, key, body):
    sampling = {name: body[name] for name in judging.SAMPLING if name in body}
    body = {name: value for name, value in body.items() if name != "stream" and name not in sampling}
    # With which these settings are taken; the SDK's own is newer.
    version = {"anthropic-version": "2023-06-01"}
    with anthropic.Anthropic(
        api_key=key, base_url=provider.base_url, max_retries=0, timeout=TIMEOUT, default_headers=version
    ) as client:
        with client.messages.stream(**body, extra_body=sampling) as stream:
            message = stream.get_final_message()
    text = thought = ""
    signatures, calls = [], []
    for block in message.content:
        if block.type == "text":
            text += block.text
        elif block.type == "thinking":
            thought += block.thinking
            signatures.append(block.signature)
        elif block.type == "tool_use":
            calls.append((block.id, block.name, block.input))
    used = message.usage
    cached, created = used.cache_read_input_tokens, used.cache_creation_input_tokens
    counts = usage(used.input_tokens + cached + created, cached, used.output_tokens, 0)
    if created:
        counts["cacheWriteTokens"] = created
    finish = {"end_turn": "stop", "tool_use": "stop", "max_tokens": "length"}[message.stop_reason]
    return whole(text, thought, calls, finish, counts), signatures


READERS = {
    "gemini": gemini, "openai": openai_chat, "openai-responses": openai_responses, "anthropic": anthropic_messages,
}


def recorded(events):
    """What the daemon recorded of each reply, in their order."""
    replies, states, thoughts = [], {}, {}
    for event in events:
        data = event["data"]
        if event["type"] == "thought":
            thoughts[data["stream"]] = thoughts.get(data["stream"], "") + data["text"]
        elif event["type"] == "tool.state" and "from" not in data:
            states[data["callId"]] = (data.get("providerCallId"), data["name"], data["arguments"])
        elif event["type"] == "model.completed":
            replies.append(data)
    return [
        whole(data["text"], thoughts.get(data["stream"], ""), [states[call] for call in data["calls"]],
              data["finishReason"], data["usage"])
        for data in replies
    ]
