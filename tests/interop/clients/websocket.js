// A WebSocket library over the Unix socket: a request, a subscription, a message too long.
const WebSocket = require('ws');
const socket = new WebSocket(`ws+unix:${process.env.SOCKET}:/rpc`);
const fail = (words) => { console.error(words); process.exit(1); };
let pid;
const ask = (id, method, params) => socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
socket.on('open', () => ask(1, 'daemon/status', {}));
socket.on('error', fail);
socket.on('message', (text) => {
  const message = JSON.parse(text);
  if (message.id === 1) { pid = message.result.daemon.pid; ask(2, 'session/create', { workspace: process.env.WORKSPACE }); }
  if (message.id === 2) ask(3, 'session/attach', { sessionId: message.result.sessionId, from: 'start' });
  if (message.method === 'event' && message.params.result.type === 'session.created') socket.send(' '.repeat((4 << 20) + 1));
  if (message.error) {
    if (message.error.data.kind === 'PAYLOAD_TOO_LARGE') console.log(`"pid":${pid}`);
    else if (message.error.data.kind !== 'PARSE_ERROR') fail(text);
  }
});
socket.on('close', (code) => process.exit(code === 1009 ? 0 : 1));
