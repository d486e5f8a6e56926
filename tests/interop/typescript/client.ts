// A client in TypeScript, written against proto-docs/types.ts and nothing else: one run from the first byte to the
// last, followed live, then read again from the log. Usage: node client.js SOCKET WORKSPACE

import assert from "node:assert/strict";
import { createConnection, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type {
  EventEnvelope,
  KnownEnvelope,
  MethodName,
  Methods,
  RpcError,
  RpcRequest,
  ServerMessage,
  SubscriptionId,
} from "./types.js";

/** A request that was refused. */
class Refused extends Error {
  constructor(readonly error: RpcError) {
    super(`${error.data.kind}: ${error.message}`);
  }
}

type Waiting = { done: (result: unknown) => void; failed: (error: Error) => void };

/** One connection: typed calls, and the envelopes of its subscriptions in the order of their arrival. */
class Daemon {
  #socket: Socket;
  #waiting = new Map<number, Waiting>();
  #envelopes: { subscription: SubscriptionId | undefined; envelope: KnownEnvelope }[] = [];
  #arrived: () => void = () => {};
  #lastId = 0;

  constructor(path: string) {
    this.#socket = createConnection(path);
    createInterface({ input: this.#socket }).on("line", (line) => this.#read(JSON.parse(line) as ServerMessage));
    this.#socket.on("close", () => {
      this.#waiting.forEach((waiting) => waiting.failed(new Error("the daemon hung up")));
      this.#arrived();
    });
  }

  call<M extends MethodName>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    const request: RpcRequest<M> = { jsonrpc: "2.0", id: ++this.#lastId, method, params };
    this.#socket.write(`${JSON.stringify(request)}\n`);
    return new Promise((done, failed) => {
      this.#waiting.set(this.#lastId, { done: (result) => done(result as Methods[M]["result"]), failed });
    });
  }

  /** What a subscription sends; ends with the connection. */
  async *envelopes(subscription: SubscriptionId): AsyncGenerator<KnownEnvelope> {
    while (!this.#socket.destroyed) {
      const at = this.#envelopes.findIndex((it) => it.subscription === subscription);
      const [next] = at < 0 ? [] : this.#envelopes.splice(at, 1);
      if (next === undefined) {
        await new Promise<void>((arrived) => (this.#arrived = arrived));
      } else {
        yield next.envelope;
      }
    }
  }

  /** Signals that concern the connection. */
  signals(): KnownEnvelope[] {
    return this.#envelopes.filter((it) => it.subscription === undefined).map((it) => it.envelope);
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(message: ServerMessage): void {
    if ("method" in message) {
      this.#envelopes.push({ subscription: message.params.subscription, envelope: message.params.result });
      this.#arrived();
      return;
    }
    const waiting = this.#waiting.get(Number(message.id));
    assert(waiting !== undefined, `an answer that nobody waits for: ${JSON.stringify(message)}`);
    this.#waiting.delete(Number(message.id));
    if ("error" in message) {
      waiting.failed(new Refused(message.error));
    } else {
      waiting.done(message.result);
    }
  }
}

/** What was seen of a session, as a view would keep it. */
class View {
  last = 0;
  events: EventEnvelope[] = [];
  texts = new Map<string, Buffer>();
  /** How far each call is. */
  states = new Map<string, string>();
  unknown: string[] = [];

  /** Takes one envelope; true when it is the end of this run. */
  take(envelope: KnownEnvelope, run: string): boolean {
    if ("seq" in envelope) {
      assert.equal(envelope.prev, this.last, `something was missed before ${envelope.seq}`);
      this.last = envelope.seq;
      this.events.push(envelope);
    }
    switch (envelope.type) {
      case "signal.snapshot":
        this.last = envelope.data.seq;
        return false;
      case "model.textDelta": {
        const text = this.texts.get(envelope.data.stream) ?? Buffer.alloc(0);
        assert.equal(envelope.data.offset, text.length, "deltas go on where the last one ended");
        this.texts.set(envelope.data.stream, Buffer.concat([text, Buffer.from(envelope.data.text)]));
        return false;
      }
      case "model.completed": {
        const text = this.texts.get(envelope.data.stream)?.toString() ?? "";
        assert.equal(text, envelope.data.text, "the deltas add up to the text");
        return false;
      }
      case "tool.state":
        // An open enum: a state that is not known here would be shown as it is.
        this.states.set(envelope.data.callId, `${envelope.data.name} ${envelope.data.to}`);
        return false;
      case "run.completed":
        return envelope.runId === run;
      case "run.started":
      case "turn.started":
        return false;
      default:
        this.unknown.push(envelope.type);
        return false;
    }
  }
}

async function refusal(answer: Promise<unknown>): Promise<RpcError> {
  try {
    await answer;
  } catch (error) {
    if (error instanceof Refused) return error.error;
    throw error;
  }
  assert.fail("was not refused");
}

async function main(path: string, workspace: string): Promise<void> {
  const daemon = new Daemon(path);
  const hello = await daemon.call("initialize", {
    protocolVersion: "2",
    client: { name: "types", version: "1.0", kind: "script" },
  });
  const methods: string[] = hello.methods;
  assert(methods.includes("run/start" satisfies MethodName));

  // A slip does not compile, and is refused when it comes all the same.
  // @ts-expect-error there is no such value
  const slip = await refusal(daemon.call("run/start", { workspace, ifBusy: "wait" }));
  assert.equal(slip.data.kind, "INVALID_PARAMS");
  // @ts-expect-error `runId` is a text, and required
  await refusal(daemon.call("run/get", { runId: 7 }));
  const unknown = await refusal(daemon.call("run/get", { runId: "no-such-run" }));
  assert.deepEqual([unknown.code, unknown.data.kind, unknown.data.retryable], [-31010, "NOT_FOUND", false]);

  const { sessionId, replayed } = await daemon.call("session/create", {
    workspace: { roots: [workspace] },
    title: "from TypeScript",
    idempotencyKey: "types-interop-1",
  });
  assert.equal(replayed, undefined);
  const subscription = await daemon.call("session/attach", { sessionId, deltas: true });
  const { runId, disposition } = await daemon.call("run/start", {
    sessionId,
    agent: "codebase-investigator",
    prompt: "Where is the harbour opened?",
    model: "offline",
    limits: { maxTurns: 10 },
  });
  assert.equal(disposition, "started");

  const live = new View();
  for await (const envelope of daemon.envelopes(subscription)) {
    if (live.take(envelope, runId)) break;
  }
  assert((await daemon.call("session/detach", { subscription })).detached);

  const { run, done } = await daemon.call("run/wait", { runId, timeoutMs: 60_000 });
  assert.deepEqual([done, run.state, run.reason], [true, "ended", "GOAL"]);
  assert(run.result?.includes("harbour"), run.result ?? "no result");
  assert.equal(live.states.size, run.toolCalls);
  assert([...live.states.values()].every((state) => state.endsWith(" success")), [...live.states.values()].join());

  // The log says the same as what was followed, but for `prev`, which belongs to a subscription.
  const first = live.events[0]?.seq ?? 0;
  const page = await daemon.call("events/list", { filter: { sessionId }, from: first - 1, limit: 1_000 });
  const followed = live.events.map(({ prev, ...event }) => event);
  assert.deepEqual(page.events, followed);
  assert.deepEqual(daemon.signals(), []);

  const { seq } = await daemon.call("session/close", { sessionId });
  assert((seq ?? 0) > live.last);
  daemon.close();
  console.log(`  ${live.events.length} events, ${live.texts.size} texts; passed over: ${[...new Set(live.unknown)].join(", ")}`);
}

const [path, workspace] = process.argv.slice(2);
assert(path !== undefined && workspace !== undefined, "usage: node client.js SOCKET WORKSPACE");
await main(path, workspace);
