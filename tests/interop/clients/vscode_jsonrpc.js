// The JSON-RPC library of VS Code's language clients: requests, a notification handler, an error, a cancellation.
const net = require('net');
const rpc = require('vscode-jsonrpc/node');
const socket = net.connect(process.env.SOCKET);
const connection = rpc.createMessageConnection(new rpc.SocketMessageReader(socket), new rpc.SocketMessageWriter(socket));
const fail = (words) => { console.error(words); process.exit(1); };
const seen = new Promise((resolve) => connection.onNotification('event', resolve));
connection.listen();
(async () => {
  const status = await connection.sendRequest('daemon/status', {});
  const refused = await connection.sendRequest('run/get', { runId: 7 }).catch((error) => error);
  if (refused.code !== -32602 || refused.data.kind !== 'INVALID_PARAMS') fail(refused);
  const { sessionId } = await connection.sendRequest('session/create', { workspace: process.env.WORKSPACE });
  await connection.sendRequest('session/attach', { sessionId, from: 'start' });
  const event = await seen;
  if (event.result.type !== 'session.created') fail(event);
  const source = new rpc.CancellationTokenSource();
  const waiting = connection.sendRequest('events/list', { from: event.result.seq + 1e9, waitMs: 60000 }, source.token).catch((error) => error);
  const listing = connection.sendRequest('events/list', { filter: { types: ['no.such'] }, waitMs: 60000 }, source.token).catch((error) => error);
  if ((await waiting).data.kind !== 'CURSOR_GONE') fail(await waiting);
  source.cancel();
  const cancelled = await listing;
  if (cancelled.code !== -32800) fail(cancelled);
  console.log(`"pid":${status.daemon.pid}`);
  process.exit(0);
})().catch(fail);
