"""What is tried with every provider: who is asked what, and what the model says to it."""
import base64, dataclasses, struct, zlib

from replies import Call, Reply

# Only their provider can tell what they are.
SIGNATURES = [base64.b64encode(b"%d \xff\xfe\xfb signed" % n).decode() for n in range(3)]


def agent(name, completion, more=""):
    return (f"---\nkind: agent\nname: {name}\ndescription: Does as told.\ncompletion: {completion}\n"
            f"tools: [read_file, glob, grep, list_directory]\n{more}---\nYou do as you are told.\n")


AGENTS = {
    "talker": agent("talker", "message"),
    "reader": agent("reader", "tool", "model: {maxOutputTokens: 2048}\n"),
    "cool": agent("cool", "message", "model: {temperature: 0.3}\n"),
    "sampler": agent("sampler", "message", "model: {temperature: 0.3, topP: 0.9, maxOutputTokens: 2048}\n"),
    "thinker": agent("thinker", "message", "model: {thinkingBudget: 2000}\n"),
    "reporter": agent("reporter", "tool", """\
output:
  name: report
  schema:
    type: object
    properties:
      title: {type: string, minLength: 1}
      places:
        type: array
        items:
          type: object
          properties: {file: {type: string}, line: {type: integer}, kind: {enum: [read, "written"]}}
          required: [file, line]
          additionalProperties: false
      share: {type: [number, "null"]}
    required: [title, places]
"""),
}


def png():
    """One red point."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


PICTURE = png()
FILES = {"a.txt": "grüße, hello\n".encode(), "point.png": PICTURE, "deeper/b.rs": b"fn harbour() {}\n"}
REPORT = {"title": "Häfen", "places": [{"file": "deeper/b.rs", "line": 1, "kind": "read"}], "share": 0.5}


@dataclasses.dataclass
class Scenario:
    name: str
    agent: str
    replies: list
    prompts: list = dataclasses.field(default_factory=lambda: ["Do it, with “ümlauts” and \\ and 🦀."])
    results: list = dataclasses.field(default_factory=list)
    """What the results hold that the model has been told at the end."""
    images: list = dataclasses.field(default_factory=list)
    record: dict = dataclasses.field(default_factory=dict)
    """Of the last run's record."""
    only: str = ""
    """The one kind with which it makes sense."""
    model: str = ""
    """Instead of the kind's usual one."""


def done(id, result="finished"):
    return Reply(calls=[Call(id, "complete_task", {"result": result})])


def scenarios(kind):
    # Gemini gives calls no ids of their own, or does.
    prefix = {"gemini": "", "anthropic": "toolu_"}.get(kind, "call_")
    id = lambda n: f"{prefix}{n}" if prefix else ""
    read = lambda n: Call(id(n), "read_file", {"path": "a.txt", "limit": 3})
    every = [
        Scenario("text", "talker", [Reply(text="Grüße — from a 🦀.")],
                 record={"reason": "GOAL", "result": "Grüße — from a 🦀."}),
        Scenario("a temperature", "cool", [Reply(text="Calmly.")], record={"reason": "GOAL"}),
        Scenario("sampling", "sampler", [Reply(text="Boldly.")], record={"reason": "GOAL"}),
        Scenario("sampling, a newer model", "sampler", [Reply(text="Boldly.")], record={"reason": "GOAL"},
                 only="anthropic", model="claude-sonnet-5-5"),
        Scenario("thoughts, a newer model", "thinker", [Reply(thought="Hm.", signature=SIGNATURES[0], text="Hello.")],
                 record={"reason": "GOAL"}, only="anthropic", model="claude-sonnet-5-5"),
        Scenario("thoughts", "thinker", [Reply(thought="**Plan** I greet. ✓", signature=SIGNATURES[0], text="Hello.")],
                 record={"reason": "GOAL", "result": "Hello."}),
        Scenario("one call", "reader", [Reply(text="I read.", calls=[read(1)]), done(id(2))],
                 results=["grüße, hello"], record={"reason": "GOAL", "result": "finished"}),
        Scenario("four parallel calls", "reader",
                 [Reply(calls=[read(1), Call(id(2), "glob", {"pattern": "**/*.rs"}),
                               Call(id(3), "grep", {"pattern": "fn har\\w+", "path": "deeper"}),
                               Call(id(4), "read_file", {"path": "is \"not\" there"})]), done(id(5))],
                 results=["grüße, hello", "deeper/b.rs", "harbour", "not"], record={"reason": "GOAL"}),
        Scenario("image in", "reader", [Reply(calls=[Call(id(1), "read_file", {"path": "point.png"})]), done(id(2))],
                 results=[""], images=[PICTURE], record={"reason": "GOAL"}),
        Scenario("typed output", "reporter", [Reply(calls=[Call(id(1), "complete_task", {"report": REPORT})])],
                 record={"reason": "GOAL", "output": REPORT}),
        Scenario("thoughts and results go back", "thinker",
                 [Reply(thought="**Read** it first.", signature=SIGNATURES[0], text="I read.",
                        calls=[read(1), Call(id(2), "read_file", {"path": "deeper/b.rs"})]),
                  Reply(thought="**Again**", signature=SIGNATURES[1], calls=[read(3)]),
                  Reply(thought="So it is.", signature=SIGNATURES[2], text="It greets."), Reply(text="Twice, yes.")],
                 prompts=["What is in a.txt?", "Are you sure?"], results=["grüße", "harbour", "grüße"],
                 record={"reason": "GOAL", "result": "Twice, yes."}),
        Scenario("cut by the limit", "talker",
                 [Reply(text="It is a long ", finish="length"), Reply(text="story.")], record={"reason": "GOAL"}),
        Scenario("calls with ids, unsigned", "reader",
                 [Reply(calls=[dataclasses.replace(read(1), id="own-1"), dataclasses.replace(read(2), id="own-2")]),
                  done("own-3")],
                 results=["grüße"] * 2, record={"reason": "GOAL"}, only="gemini", model="gemini-3-pro-preview"),
    ]
    return [it for it in every if it.only in ("", kind)]
