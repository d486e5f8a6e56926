"""Would the providers' own SDKs have sent this? Reads a request with their types, in which no unknown field is taken.

Each kind has a function that makes a `Said` of a request's body, or raises what the types say against it.
"""
import base64, collections.abc, dataclasses, importlib, json, pkgutil, re

import anthropic.types
import openai.types
import pydantic
from google.genai import types as google

# Where Anthropic's models differ in what they take: up to 4.6, and from 4.7 on
# (https://platform.claude.com/docs/en/build-with-claude/extended-thinking).
OLDER_CLAUDES = re.compile(r"claude-(\w+-4-[0-6]\b|3-)")
# Those take these, which the SDK does not know any more: they go by `extra_body`
# (https://platform.claude.com/docs/en/api/versioning).
SAMPLING = ("temperature", "top_p")

# A field of servers of open models, which OpenAI's types do not know. It may go back to who sent it.
THOUGHTS_OF_OPEN_MODELS = "reasoning_content"


@dataclasses.dataclass
class Said:
    """What a request says, whichever the provider."""
    tools: dict = dataclasses.field(default_factory=dict)
    """Their schemas by name."""
    turns: list = dataclasses.field(default_factory=list)
    """Roles, `user` and `model`, neighbours of one role joined; `system` where it stands among them."""
    texts: list = dataclasses.field(default_factory=list)
    calls: list = dataclasses.field(default_factory=list)
    """Id, name, arguments."""
    results: list = dataclasses.field(default_factory=list)
    """Id, name where it is said, text."""
    images: list = dataclasses.field(default_factory=list)
    thoughts: list = dataclasses.field(default_factory=list)
    """Text, signature. Where only a call is signed the text is missing."""

    def speak(self, role):
        if not self.turns or self.turns[-1] != role:
            self.turns.append(role)


def forbid_unknown_fields(package):
    """The SDK's types of parameters are typed dictionaries, which by themselves take any field."""
    strict = pydantic.ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for found in vars(importlib.import_module(module.name)).values():
            if isinstance(found, type) and issubclass(found, dict) and hasattr(found, "__total__"):
                found.__pydantic_config__ = strict


forbid_unknown_fields(openai.types)
forbid_unknown_fields(anthropic.types)
CHAT = pydantic.TypeAdapter(openai.types.chat.completion_create_params.CompletionCreateParamsStreaming)
RESPONSES = pydantic.TypeAdapter(openai.types.responses.response_create_params.ResponseCreateParamsStreaming)
MESSAGES = pydantic.TypeAdapter(anthropic.types.message_create_params.MessageCreateParamsStreaming)


def read(types, body):
    """The body as the types understand it. What is iterable there is judged only as it is gone through."""
    def whole(value):
        if isinstance(value, collections.abc.Mapping):
            return {name: whole(field) for name, field in value.items()}
        if isinstance(value, collections.abc.Iterable) and not isinstance(value, (str, bytes)):
            return [whole(item) for item in value]
        return value

    understood = whole(types.validate_python(body, strict=True))
    if understood != body:
        raise ValueError(f"the types understand {json.dumps(understood)}, and sent was {json.dumps(body)}")
    return understood


def of_data_url(url):
    head, data = url.split(",", 1)
    if not (head.startswith("data:image/") and head.endswith(";base64")):
        raise ValueError(f"{head} is no image")
    return base64.b64decode(data, validate=True)


def openai_chat(asked):
    sent = json.loads(json.dumps(asked.body))
    said = Said()
    for message in sent["messages"]:
        thought = message.pop(THOUGHTS_OF_OPEN_MODELS, None)
        if thought is not None:
            said.thoughts.append((thought, ""))
    body = read(CHAT, sent)
    for tool in body.get("tools", []):
        said.tools[tool["function"]["name"]] = tool["function"]["parameters"]
    for message in body["messages"]:
        role = message["role"]
        said.speak({"assistant": "model", "tool": "user"}.get(role, role))
        content = message.get("content") or []
        if role == "tool":
            said.results.append((message["tool_call_id"], None, content))
            continue
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "image_url":
                said.images.append(of_data_url(part["image_url"]["url"]))
            elif role != "system":
                said.texts.append(part["text"])
        for call in message.get("tool_calls", []):
            function = call["function"]
            said.calls.append((call["id"], function["name"], json.loads(function["arguments"])))
    return said


def openai_responses(asked):
    body = read(RESPONSES, asked.body)
    said = Said()
    for tool in body.get("tools", []):
        said.tools[tool["name"]] = tool["parameters"]
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "message":
            said.speak({"assistant": "model"}.get(item["role"], item["role"]))
            content = item["content"]
            for part in [{"type": "input_text", "text": content}] if isinstance(content, str) else content:
                if part["type"] == "input_image":
                    said.images.append(of_data_url(part["image_url"]))
                elif item["role"] not in ("system", "developer"):
                    said.texts.append(part["text"])
        elif kind == "reasoning":
            said.speak("model")
            text = "".join(part["text"] for part in item["summary"])
            said.thoughts.append((text, item.get("encrypted_content") or ""))
        elif kind == "function_call":
            said.speak("model")
            said.calls.append((item["call_id"], item["name"], json.loads(item["arguments"])))
        elif kind == "function_call_output":
            said.speak("user")
            output = item["output"]
            parts = [{"type": "input_text", "text": output}] if isinstance(output, str) else output
            text = "\n".join(part["text"] for part in parts if part["type"] == "input_text")
            said.results.append((item["call_id"], None, text))
            images = [part["image_url"] for part in parts if part["type"] == "input_image"]
            said.images.extend(of_data_url(url) for url in images)
        else:
            raise ValueError(f"an item of the kind {kind}")
    return said


def anthropic_messages(asked):
    body = asked.body
    if OLDER_CLAUDES.match(body["model"]):
        sampling = [name for name in SAMPLING if name in body]
        if len(sampling) > 1:
            raise ValueError(f"{body['model']} takes only one of {' and '.join(sampling)}")
        body = {name: value for name, value in body.items() if name not in SAMPLING}
    elif body.get("thinking", {}).get("type") == "enabled":
        raise ValueError(f"{body['model']} thinks as much as it likes, and refuses a budget")
    body = read(MESSAGES, body)
    said = Said()
    for tool in body.get("tools", []):
        said.tools[tool["name"]] = tool["input_schema"]

    def block(block):
        if block["type"] == "text":
            said.texts.append(block["text"])
        elif block["type"] == "image":
            said.images.append(base64.b64decode(block["source"]["data"], validate=True))
        elif block["type"] == "thinking":
            said.thoughts.append((block["thinking"], block["signature"]))
        elif block["type"] == "tool_use":
            said.calls.append((block["id"], block["name"], block["input"]))
        elif block["type"] == "tool_result":
            content = block["content"]
            texts = [part["text"] for part in content if part["type"] == "text"]
            said.results.append((block["tool_use_id"], None, "\n".join(texts)))
            images = [part["source"]["data"] for part in content if part["type"] == "image"]
            said.images.extend(base64.b64decode(data, validate=True) for data in images)
        else:
            raise ValueError(f"a block of the kind {block['type']}")

    for message in body["messages"]:
        said.speak({"assistant": "model"}.get(message["role"], message["role"]))
        content = message["content"]
        for it in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            block(it)
    return said


def google_parts(body):
    """Model, contents and configuration, as `generate_content` of the SDK takes them."""
    body = dict(body)
    contents = [google.Content.model_validate_json(json.dumps(it), strict=True) for it in body.pop("contents")]
    config = body.pop("generationConfig", {})
    for name in ("systemInstruction", "tools"):
        if name in body:
            config = config | {name: body.pop(name)}
    if body:
        raise ValueError(f"unknown fields: {', '.join(body)}")
    return contents, google.GenerateContentConfig.model_validate_json(json.dumps(config), strict=True)


def google_generate_content(asked):
    contents, config = google_parts(asked.body)
    said = Said()
    for tool in config.tools or []:
        for function in tool.function_declarations:
            said.tools[function.name] = function.parameters_json_schema
    for content in contents:
        said.speak(content.role)
        # Parts that follow each other are one text, as the model gave it.
        said.texts.append("".join(part.text or "" for part in content.parts if not part.thought))
        for part in content.parts:
            signature = base64.b64encode(part.thought_signature or b"").decode()
            if part.thought or signature:
                said.thoughts.append((part.text if part.thought else None, signature))
            if part.function_call:
                call = part.function_call
                said.calls.append((call.id, call.name, call.args))
            elif part.function_response:
                it = part.function_response
                said.results.append((it.id, it.name, it.response.get("output", it.response.get("error"))))
            elif part.inline_data:
                said.images.append(part.inline_data.data)
    return said


JUDGES = {
    "gemini": google_generate_content, "openai": openai_chat, "openai-responses": openai_responses,
    "anthropic": anthropic_messages,
}
