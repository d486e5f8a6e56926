// The official TypeScript SDK's client: lists agents, runs one, sees progress, cancels one, answers a question, and goes on after the
// daemon was killed. One line for each that worked.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const { COMPANION, WORK, URL: url, TOKEN, RESTART } = process.env;
const way = process.argv[2];

const asked = [];
async function connect() {
  const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    asked.push(request.params.message);
    return { action: "accept", content: { decision: "allowOnce" } };
  });
  const transport = way === "stdio"
    ? new StdioClientTransport({ command: COMPANION, args: ["mcp", "--no-spawn", "--workspace", WORK], env: process.env, stderr: "inherit" })
    : new StreamableHTTPClientTransport(new globalThis.URL(`${url}?workspace=${encodeURIComponent(WORK)}`), {
        requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
      });
  await client.connect(transport);
  return client;
}

let client = await connect();
const names = (await client.listTools()).tools.map((tool) => tool.name);
for (const name of ["judge", "sleeper", "writer", "run_status", "run_wait", "run_cancel"]) assert(names.includes(name), `${name}: ${names}`);
console.log("lists agents");

const progress = [];
// The client itself checks the structured result against the schema that was listed.
const judged = await client.callTool({ name: "judge", arguments: { prompt: "go" } }, undefined, {
  onprogress: (told) => progress.push(told),
});
assert.deepEqual(judged.structuredContent.result, { score: 7 });
assert.equal(judged.structuredContent.status, "ended");
console.log("runs one, and gets its typed result");
assert(progress.length > 0 && progress.every((told, at) => at === 0 || progress[at - 1].progress < told.progress), JSON.stringify(progress));
console.log("sees progress");

async function untilBusy(name) {
  const seen = {};
  const busy = new Promise((resolve) => (seen.busy = resolve));
  const stop = new AbortController();
  const call = client.callTool({ name, arguments: { prompt: "go" } }, undefined, {
    signal: stop.signal,
    onprogress: ({ message }) => {
      if (message.startsWith("run ")) seen.run = message.split(" ")[1];
      if (message === "run_shell_command begins") seen.busy();
    },
  });
  call.catch(() => {});
  await busy;
  return { call, stop, run: seen.run };
}
const cancelled = await untilBusy("sleeper");
cancelled.stop.abort();
await assert.rejects(cancelled.call);
const ended = await client.callTool({ name: "run_wait", arguments: { runId: cancelled.run } });
assert.equal(ended.structuredContent.reason, "ABORTED");
console.log("cancels one");

const written = await client.callTool({ name: "writer", arguments: { prompt: "go" } });
assert.equal(written.content[0].text, "written");
assert(existsSync(`${WORK}/note.txt`) && asked.length === 1 && asked[0].includes("note.txt"), asked.join("\n"));
console.log("answers a question");

const survivor = await untilBusy("sleeper");
await promisify(execFile)(RESTART);
if (way === "stdio") {
  const answer = await survivor.call;
  assert.equal(answer.content[0].text, "survived");
} else {
  // The session ended with the daemon; the next one finds the run.
  await client.close().catch(() => {});
  client = await connect();
  const answer = await client.callTool({ name: "run_wait", arguments: { runId: survivor.run } });
  assert.equal(answer.content[0].text, "survived");
}
console.log("survives a restart of the daemon");
await client.close();
process.exit(0);
