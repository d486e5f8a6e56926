#!/usr/bin/env python3
"""Do the providers' own SDKs agree with this daemon, about what it sends and about what it reads?

Usage: sdks.py BIN_DIR, in an environment with requirements.txt.
Each scenario is a run of the real daemon against a server on loopback. Then
- requests: each that came is read by the SDK's types, in which no unknown field is taken; says what was said so far, with
  each result after its call; and is what the SDK itself sends, with the same path and headers, when it is given the same.
- streams: each reply is read by the SDK as well, from the same server, and is what the daemon recorded.
Prints a line a case; exits 1 when one that ran failed.
"""
import base64, os, re, sys, traceback

# Nothing here may leave the machine, nor go through anybody's proxy.
for name in [name for name in os.environ if name.lower().endswith("_proxy") or name.endswith(("_API_KEY", "_BASE_URL"))]:
    del os.environ[name]

import judging, reading, scenarios
from daemon import Daemon, knows_kind
from provider import Provider

KEY = "key-of-nobody-7f3a91c2"
MODELS = {
    "gemini": "gemini-2.5-pro", "openai": "gpt-x", "openai-responses": "gpt-5.1", "anthropic": "claude-haiku-4-5",
}
# `skip_thought_signature_validator` (https://ai.google.dev/gemini-api/docs/thought-signatures), which is base64 as well.
UNSIGNED = "skip/thought/signature/validator"
BASES = {"gemini": "", "openai": "/v1", "openai-responses": "/v1", "anthropic": ""}
# In which the key goes, and how.
KEY_HEADERS = {
    "gemini": {"x-goog-api-key": KEY}, "openai": {"authorization": f"Bearer {KEY}"},
    "openai-responses": {"authorization": f"Bearer {KEY}"},
    # As its documentation has it; the SDK says `Authorization: Bearer`, which is taken as well.
    "anthropic": {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
}


class Unequal(Exception):
    def __init__(self, what, ours, theirs):
        super().__init__(f"{what}\n    ours:   {ours!r}\n    theirs: {theirs!r}")


def equal(what, ours, theirs):
    """Of what is large, only the first place that differs is told."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in [*ours, *theirs]:
            equal(f"{what}/{name}", ours.get(name, "(nothing)"), theirs.get(name, "(nothing)"))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for n, (our, their) in enumerate(zip(ours, theirs)):
            equal(f"{what}/{n}", our, their)
    elif ours != theirs:
        raise Unequal(what, ours, theirs)


def normalised(kind, value):
    """Google's SDK writes some names in one spelling and some in the other, and bytes in either alphabet; the API takes
    both."""
    if kind != "gemini":
        return value
    if isinstance(value, list):
        return [normalised(kind, item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {}
    for name, field in value.items():
        name = re.sub("_([a-z])", lambda letter: letter[1].upper(), name)
        if name in ("thoughtSignature", "data"):
            field = base64.b64decode(field.translate(str.maketrans("-_", "+/")) + "=" * (-len(field) % 4))
        elif name not in ("parametersJsonSchema", "responseJsonSchema", "args", "response"):
            field = normalised(kind, field)
        fields[name] = field
    return fields


def check_request(kind, scenario, n, asked):
    """That the n-th request says all there is to say by then."""
    said = judging.JUDGES[kind](asked)
    system = said.turns[:1] if said.turns[0] in ("system", "developer") else []
    turns = said.turns[len(system):]
    equal("turns alternate, from the user's on to the user's", turns,
          [("user", "model")[at % 2] for at in range(len(turns) | 1)])
    if any(name not in said.tools for name in ("read_file", "grep", "complete_task")):
        raise Unequal("the tools", sorted(said.tools), "read_file, grep, complete_task")
    before = scenario.replies[:n]
    equal("the calls so far", [(name, arguments) for _, name, arguments in said.calls],
          [(call.name, call.arguments) for reply in before for call in reply.calls])
    equal("each call has its result, in their order", [id for id, _, _ in said.results], [id for id, _, _ in said.calls])
    ids = [id for id, _, _ in said.calls if id]
    equal("ids are told apart", sorted(set(ids)), sorted(ids))
    for (_, called, _), (_, answered, _) in zip(said.calls, said.results):
        equal("the name of a result", answered or called, called)
    for reply in before:
        if reply.text and not any(reply.text in text for text in said.texts):
            raise Unequal("what the model said", said.texts, reply.text)
    thoughts = said.thoughts
    if kind == "gemini":
        # What signs them is what counts; calls that nobody signed say so to a model that wants to know.
        thoughts = [signature for _, signature in thoughts if signature]
        unsigned = UNSIGNED if scenario.model.startswith("gemini-3") else ""
        back = [reply.signature or (reply.calls and unsigned) for reply in before]
        back = [signature for signature in back if signature]
    elif kind == "openai":
        # Of no use once there is an answer, and never signed.
        back = [(reply.thought, "") for reply in before if reply.thought and reply.calls]
    else:
        back = [(reply.thought, reply.signature) for reply in before if reply.thought]
    equal("thoughts go back as they came", thoughts, back)
    return said


def check_requests(kind, scenario, requests, theirs):
    equal("requests", len(requests), len(scenario.replies))
    said = [check_request(kind, scenario, n, asked) for n, asked in enumerate(requests)]
    last = said[-1]
    equal("images", last.images, scenario.images)
    for result, expected in zip([text for _, _, text in last.results], scenario.results, strict=True):
        if expected not in result:
            raise Unequal("a result", result, expected)
    if scenario.agent == "reporter":
        # The schema reaches the model as the agent's file has it.
        report = last.tools["complete_task"]["properties"]["report"]
        equal("the report's required fields", report["required"], ["title", "places"])
    for asked, other in zip(requests, theirs, strict=True):
        equal("method and path", asked.path, other.path)
        equal("content-type", asked.headers["content-type"], other.headers["content-type"])
        for header, value in KEY_HEADERS[kind].items():
            equal(header, asked.headers.get(header), value)
            if kind != "anthropic":
                equal(f"{header} of the SDK", other.headers.get(header), value)
        what = "the body that the SDK sends when it is given ours"
        equal(what, normalised(kind, asked.body), normalised(kind, other.body))


def check_streams(scenario, recorded, read):
    equal("replies", len(recorded), len(read))
    for reply, ours, (theirs, signatures) in zip(scenario.replies, recorded, read, strict=True):
        for what in ours:
            equal(what, ours[what], theirs[what])
        # That both are not equally wrong.
        equal("text", theirs["text"], reply.text)
        equal("thought", theirs["thought"], reply.thought)
        equal("finish", theirs["finish"], reply.finish)
        equal("calls", theirs["calls"], [(call.id or None, call.name, call.arguments) for call in reply.calls])
        if signatures:
            equal("signature", signatures, [reply.signature])


def play(kind, scenario, daemon, provider):
    """The scenario, with the daemon and then with the SDK: requests and replies of both."""
    model = scenario.model or MODELS[kind]
    provider.play(scenario.replies)
    session, events, record = None, [], None
    for prompt in scenario.prompts:
        more, record = daemon.run(scenario.agent, f"mine/{model}", prompt, session)
        session = record["sessionId"]
        # Who goes on in a session is not told again what was before.
        events += [event for event in more if event.get("runId", record["runId"]) == record["runId"]]
    ours = provider.take()
    retried = [event["data"]["message"] for event in events if event["type"] == "model.retrying"]
    equal("nothing is asked twice", retried, [])
    for name, expected in scenario.record.items():
        equal(name, record.get(name), expected)
    provider.play(scenario.replies)
    read = [reading.READERS[kind](provider, model, KEY, asked.body) for asked in ours]
    return ours, provider.take(), reading.recorded(events), read


def main(programs):
    failed = False

    def verdict(name, check, *arguments):
        nonlocal failed
        try:
            result = check(*arguments)
        except Exception as error:
            failed = True
            print(f"ran: {name} FAILED")
            # Either of them says enough; of anything else one wants to know where.
            told = isinstance(error, (Unequal, ValueError))
            print(f"  {error}"[:2000] if told else traceback.format_exc(), file=sys.stderr)
            return None
        return result or True

    for kind in ("gemini", "openai", "openai-responses", "anthropic"):
        cases = scenarios.scenarios(kind)
        if not knows_kind(programs, kind):
            for scenario in cases:
                print(f"skipped: {kind}, {scenario.name}: requests, streams (no such provider yet)")
            continue
        with Provider(kind) as provider:
            base = provider.base_url + BASES[kind]
            entry = {"kind": kind, "baseUrl": base, "key": {"env": "INTEROP_KEY"}}
            with Daemon(programs, {"mine": entry}, scenarios.AGENTS, scenarios.FILES, KEY) as daemon:
                for scenario in cases:
                    name = f"{kind}, {scenario.name}"
                    played = verdict(name, play, kind, scenario, daemon, provider)
                    if not played:
                        continue
                    ours, theirs, recorded, read = played
                    if verdict(f"{name}: requests", check_requests, kind, scenario, ours, theirs):
                        print(f"ran: {name}: requests")
                    if verdict(f"{name}: streams", check_streams, scenario, recorded, read):
                        print(f"ran: {name}: streams")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
